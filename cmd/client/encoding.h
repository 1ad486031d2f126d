// Between slots by name and plaintexts in the order of a program's inputs.
#pragma once

#include <span>
#include <vector>

#include "attention/ends/client_model.h"
#include "ckks/base/error.h"
#include "ckks/scheme/encoding/encoder.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// The inputs as plaintexts, in the program's order and at its levels.
inline std::vector<ckks::Plaintext> encode_inputs(const ckks::Encoder& encoder, std::span<const PlanEnd> ends,
                                                  const attention::SlotVectors& inputs) {
  std::vector<ckks::Plaintext> out;
  for (const PlanEnd& end : ends) {
    const auto found = inputs.find(end.name);
    if (found == inputs.end() || ends.size() != inputs.size()) {
      throw Error(message("the program's ", ends.size(), " inputs, among them '", end.name,
                          "', are not the model's ", inputs.size(), "; compile the model again"));
    }
    out.push_back(encoder.encode(found->second, end.level));
  }
  return out;
}

}  // namespace psm::cmd
