#include "nn/encrypted/encrypted_swiglu.h"

#include <utility>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_gelu.h"

namespace psm::nn {

using program::Builder;
using program::Value;

std::vector<Value> encrypted_swiglu(Builder& builder, std::span<const Value> half_gate,
                                    std::span<const Value> half_up, const approx::Approximation& silu) {
  PSM_CHECK(half_gate.size() == half_up.size(), half_gate.size(), " gates for ", half_up.size());
  std::vector<Value> gates;
  {
    Builder::Scope scope(builder, "silu");
    gates = parts_to_approximate(builder, half_gate, silu);
    for (Value& gate : gates) gate = build(builder, silu, gate, "input of silu");
    gates = builder.refresh(gates);
  }
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
