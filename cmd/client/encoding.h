// Between slots by name and plaintexts in the order of a program's inputs.
#pragma once

#include <span>
#include <vector>

#include "attention/ends/client_model.h"
#include "ckks/scheme/encoding/encoder.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// The inputs as plaintexts, in the program's order and at its levels.
std::vector<ckks::Plaintext> encode_inputs(const ckks::Encoder& encoder, std::span<const PlanEnd> ends,
                                           const attention::SlotVectors& inputs);

}  // namespace psm::cmd
