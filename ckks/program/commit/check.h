// The auditor's check of an opening (commitment.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ckks/program/commit/commitment.h"
#include "ckks/program/machines/encrypted_machine.h"

namespace psm::program {

// A step's own plan. Its arguments are inputs, which its machine receives (RunOptions::receive); its results can be
// observed.
Plan plan_of(const Steps&, size_t step, const ckks::Chain&);

// Runs a step's plan with these options.
using Recompute = std::function<void(Plan, const RunOptions&)>;
using NamedCiphertexts = std::map<std::string, ckks::Ciphertext>;

// Throws Error: for an opening that is not of this root, as bad input; for a step that was not computed as the program
// says, other prompts or other answers, as a failure. The opening's ciphertexts must be those of OpenedValues, at the
// levels and scales of the plan.
void check_opening(const Steps&, const ckks::Chain&, const Digest& root,
                   const std::vector<size_t>& challenged, const Opening&, const NamedCiphertexts& inputs,
                   const NamedCiphertexts& outputs, const Recompute&);

}  // namespace psm::program
