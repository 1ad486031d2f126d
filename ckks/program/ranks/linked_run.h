// The run of a rank's program together with those of the other ranks. Ciphertexts travel as their residues, c_0 and then
// c_1, limb after limb; the name of a message is that of the value, its level that of the plan. Every operation is an
// exact function of residues, so the outputs are those of one rank, bit for bit.
#pragma once

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/ranks/link.h"
#include "ckks/program/ranks/rank_plan.h"

namespace psm::program {

// Options with which a machine of rank.plan sends what others need, and waits for what they send. The seconds of a
// kInput are those that it waited. The run throws Error for a message that is no ciphertext of the plan's level. All
// arguments outlive the run.
RunOptions linked(RunOptions, const RankPlan& rank, const ckks::Context&, ckks::Fingerprint, Link&);

}  // namespace psm::program
