#include "nn/encrypted/encrypted_activation.h"

#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// Twice re and twice im of each, one after the other.
std::vector<Value> separate_parts(Builder& builder, std::span<const Value> values) {
  std::vector<Value> parts;
  for (Value z : values) {
    const Value conjugate = builder.conjugate(z);
    parts.push_back(builder.add(z, conjugate));
    parts.push_back(builder.mark_real(builder.times_i(builder.subtract(conjugate, z))));
  }
  return parts;
}

std::vector<Value> real_parts(Builder& builder, std::span<const Value> values) {
  std::vector<Value> parts;
  for (Value z : values) parts.push_back(builder.twice_real_part(z));
  return parts;
}

// What the approximation reads of these, refresh candidates.
std::vector<Value> to_approximate(Builder& builder, std::vector<Value> parts,
                                  const approx::Approximation& f) {
  if (f.input_offset() != 0)
    for (Value& part : parts) part = builder.add_constant(part, f.input_offset());
  return builder.refresh(parts);
}

// f of each part, refresh candidates before and behind it.
std::vector<Value> function_of(Builder& builder, std::vector<Value> parts, const approx::Approximation& f,
                               const std::string& label) {
  parts = to_approximate(builder, std::move(parts), f);
  for (Value& part : parts) part = build(builder, f, part, "input of " + label);
  return builder.refresh(parts);
}

// SiLU of what `parts_of` makes of the gates.
std::vector<Value> silu_of(Builder& builder, std::span<const Value> half_gate, std::span<const Value> half_up,
                           const approx::Approximation& silu,
                           std::vector<Value> (*parts_of)(Builder&, std::span<const Value>)) {
  PSM_CHECK(half_gate.size() == half_up.size(), half_gate.size(), " gates for ", half_up.size());
  Builder::Scope scope(builder, "silu");
  return function_of(builder, parts_of(builder, half_gate), silu, "silu");
}

}  // namespace

std::vector<Value> encrypted_gelu_of_real(Builder& builder, std::span<const Value> half,
                                          const approx::Approximation& gelu) {
  Builder::Scope scope(builder, "gelu");
  return function_of(builder, real_parts(builder, half), gelu, "gelu");
}

std::vector<Value> encrypted_swiglu_of_real(Builder& builder, std::span<const Value> half_gate,
                                            std::span<const Value> half_up,
                                            const approx::Approximation& silu) {
  std::vector<Value> outputs = silu_of(builder, half_gate, half_up, silu, real_parts);
  Builder::Scope scope(builder, "gate");
  const std::vector<Value> units = builder.refresh(real_parts(builder, half_up));
  for (size_t i = 0; i < units.size(); ++i) outputs[i] = builder.multiply(outputs[i], units[i]);
  return builder.refresh(outputs);
}

std::vector<Value> encrypted_gelu(Builder& builder, std::span<const Value> half,
                                  const approx::Approximation& gelu, const std::string& label) {
  Builder::Scope scope(builder, label);
  const std::vector<Value> parts = to_approximate(builder, separate_parts(builder, half), gelu);
  std::vector<Value> outputs;
  for (size_t i = 0; i < parts.size(); i += 2) {
    const Value re = build(builder, gelu, parts[i], "input of " + label);
    const Value im = build(builder, gelu, parts[i + 1], "input of " + label);
    outputs.push_back(builder.add(re, builder.times_i(im)));
  }
  return builder.refresh(outputs);
}

std::vector<Value> encrypted_swiglu(Builder& builder, std::span<const Value> half_gate,
                                    std::span<const Value> half_up, const approx::Approximation& silu) {
  const std::vector<Value> gates = silu_of(builder, half_gate, half_up, silu, separate_parts);
  Builder::Scope scope(builder, "gate");
  const std::vector<Value> units = builder.refresh(separate_parts(builder, half_up));
  std::vector<Value> outputs;
  for (size_t i = 0; i < units.size(); i += 2) {
    const std::pair<Value, Value> products[] = {{gates[i], units[i]},
                                                {gates[i + 1], builder.times_i(units[i + 1])}};
    outputs.push_back(builder.sum_of_products(products));
  }
  return builder.refresh(outputs);
}

}  // namespace psm::nn
