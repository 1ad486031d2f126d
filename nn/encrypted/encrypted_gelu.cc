#include "nn/encrypted/encrypted_gelu.h"

#include "nn/encrypted/encrypted_function.h"

namespace psm::nn {

using program::Builder;
using program::Value;

std::vector<Value> separate_parts(Builder& builder, std::span<const Value> values) {
  std::vector<Value> parts;
  for (Value z : values) {
    parts.push_back(builder.twice_real_part(z));
    parts.push_back(builder.twice_real_part(builder.negate(builder.times_i(z))));
  }
  return parts;
}

namespace {

std::vector<Value> to_approximate(Builder& builder, std::vector<Value> parts,
                                  const approx::Approximation& f) {
  if (f.input_offset() != 0)
    for (Value& part : parts) part = builder.add_constant(part, f.input_offset());
  return builder.refresh(parts);
}

}  // namespace

std::vector<Value> parts_to_approximate(Builder& builder, std::span<const Value> half,
                                        const approx::Approximation& f) {
  return to_approximate(builder, separate_parts(builder, half), f);
}

std::vector<Value> encrypted_gelu_of_real(Builder& builder, std::span<const Value> half,
                                          const approx::Approximation& gelu) {
  Builder::Scope scope(builder, "gelu");
  std::vector<Value> parts;
  for (const Value z : half) parts.push_back(builder.twice_real_part(z));
  std::vector<Value> outputs;
  for (const Value part : to_approximate(builder, std::move(parts), gelu))
    outputs.push_back(build(builder, gelu, part, "input of gelu"));
  return builder.refresh(outputs);
}

std::vector<Value> encrypted_gelu(Builder& builder, std::span<const Value> half,
                                  const approx::Approximation& gelu, const std::string& label) {
  Builder::Scope scope(builder, label);
  const std::vector<Value> parts = parts_to_approximate(builder, half, gelu);
  std::vector<Value> outputs;
  for (size_t i = 0; i < parts.size(); i += 2) {
    const Value re = build(builder, gelu, parts[i], "input of " + label);
    const Value im = build(builder, gelu, parts[i + 1], "input of " + label);
    outputs.push_back(builder.add(re, builder.times_i(im)));
  }
  return builder.refresh(outputs);
}

}  // namespace psm::nn
