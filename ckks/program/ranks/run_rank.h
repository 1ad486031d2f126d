// Runs a rank's program together with the other ranks. Ciphertexts travel as their residues, c_0 and then c_1, limb after
// limb; the name of a message is the number of the value, its level that of the plan. Every operation is an exact
// function of residues, so the outputs are those of one rank, bit for bit.
#pragma once

#include <map>
#include <string>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/ranks/link.h"
#include "ckks/program/ranks/rank_plan.h"

namespace psm::program {

// `machine` runs rank.plan, and `inputs` are those that this rank begins with. Its seconds at a kInput are those that it
// waited. Throws Error for a message that is no ciphertext of the plan's level.
RunResult run_rank(EncryptedMachine& machine, const RankPlan& rank, const ckks::Context&, ckks::Fingerprint,
                   Link&, const std::map<std::string, ckks::Ciphertext>& inputs, RunOptions = {});

}  // namespace psm::program
