#include "cmd/client/encoding.h"

#include "ckks/base/error.h"

namespace psm::cmd {

std::vector<ckks::Plaintext> encode_inputs(const ckks::Encoder& encoder, std::span<const PlanEnd> ends,
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
