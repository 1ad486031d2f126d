#include "nn/encrypted/encrypted_gelu.h"

namespace psm::nn {

using program::Builder;
using program::Value;

std::vector<Value> encrypted_gelu(Builder& builder, std::span<const Value> half,
                                  const approx::Approximation& gelu) {
  Builder::Scope scope(builder, "gelu");
  std::vector<Value> parts;
  for (Value z : half) {
    parts.push_back(builder.twice_real_part(z));
    parts.push_back(builder.twice_real_part(builder.negate(builder.times_i(z))));
  }
  if (gelu.input_offset() != 0)
    for (Value& part : parts) part = builder.add_constant(part, gelu.input_offset());
  parts = builder.refresh(parts);
  std::vector<Value> outputs;
  for (size_t i = 0; i < parts.size(); i += 2) {
    const Value re = gelu.build(builder, parts[i], "input of gelu");
    const Value im = gelu.build(builder, parts[i + 1], "input of gelu");
    outputs.push_back(builder.add(re, builder.times_i(im)));
  }
  return builder.refresh(outputs);
}

}  // namespace psm::nn
