#include "nn/encrypted/encrypted_activation.h"

#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// Twice the wanted parts of each, re and im one after the other.
std::vector<Value> separated(Builder& builder, std::span<const Value> values, Parts wanted) {
  std::vector<Value> parts;
  for (Value z : values) {
    if (wanted == Parts::kReal) {
      parts.push_back(builder.twice_real_part(z));
      continue;
    }
    const Value conjugate = builder.conjugate(z);
    parts.push_back(builder.mark_real(builder.add(z, conjugate)));
    parts.push_back(builder.mark_real(builder.times_i(builder.subtract(conjugate, z))));
  }
  return parts;
}

}  // namespace

std::vector<Value> encrypted_gelu(Builder& builder, std::span<const Value> half,
                                  const approx::Approximation& gelu, Parts wanted, const std::string& label) {
  Builder::Scope scope(builder, label);
  PSM_CHECK(gelu.input_offset() == 0, gelu.input_offset());
  const std::vector<Value> parts = builder.refresh(separated(builder, half, wanted));
  std::vector<Value> outputs;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Value out = build(builder, gelu, parts[i], "input of " + label);
    if (wanted == Parts::kBoth && i % 2 == 1)
      outputs.back() = builder.add(outputs.back(), builder.times_i(out));
    else
      outputs.push_back(out);
  }
  return builder.refresh(outputs);
}

std::vector<Value> encrypted_swiglu(Builder& builder, std::span<const Value> half,
                                    const approx::Approximation& silu, Parts wanted) {
  PSM_CHECK(half.size() % 2 == 0, half.size(), " halves of gates and up");
  PSM_CHECK(silu.input_offset() == 0, silu.input_offset());
  const size_t count = half.size() / 2;
  std::vector<Value> gates, outputs;
  {
    Builder::Scope scope(builder, "silu");
    gates = builder.refresh(separated(builder, half.first(count), wanted));
    for (Value& gate : gates) gate = build(builder, silu, gate, "input of silu");
    gates = builder.refresh(gates);
  }
  Builder::Scope scope(builder, "gate");
  const std::vector<Value> units = builder.refresh(separated(builder, half.subspan(count), wanted));
  const size_t step = wanted == Parts::kReal ? 1 : 2;
  for (size_t i = 0; i < units.size(); i += step) {
    if (wanted == Parts::kReal) {
      outputs.push_back(builder.multiply(gates[i], units[i]));
      continue;
    }
    const std::pair<Value, Value> products[] = {{gates[i], units[i]},
                                                {gates[i + 1], builder.times_i(units[i + 1])}};
    outputs.push_back(builder.sum_of_products(products));
  }
  return builder.refresh(outputs);
}

}  // namespace psm::nn
