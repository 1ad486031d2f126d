#include "nn/encrypted/weight_inputs.h"

#include <map>
#include <utility>

#include "ckks/base/error.h"

namespace psm::nn {

using program::Value;

Value WeightInputs::input(ckks::Plain weight, bool real, const std::string& name) {
  const Value value = builder_.input(name, real, weight.period());
  inputs_.push_back({name, std::move(weight)});
  return value;
}

std::vector<Value> WeightInputs::linear(std::span<const Value> sources, ckks::LinearTransform map,
                                        const std::string& name) {
  if (!encrypted_) return builder_.linear(sources, std::move(map));
  std::map<int, std::vector<int>> babies;  // of each source
  for (const ckks::TransformTerm& term : map.terms) {
    PSM_CHECK(term.giant == 0 && !term.conjugate, name, ": only babies");
    if (term.output == 0) babies[term.input].push_back(term.baby);
  }
  std::map<std::pair<int, int>, Value> rotated;
  for (const auto& [source, offsets] : babies) {
    const std::vector<Value> values = builder_.rotate_all(sources[source], offsets);
    for (size_t i = 0; i < offsets.size(); ++i) rotated[{source, offsets[i]}] = values[i];
  }
  std::vector<std::vector<std::pair<Value, Value>>> products(static_cast<size_t>(map.outputs));
  for (size_t k = 0; k < map.terms.size(); ++k) {
    ckks::TransformTerm& term = map.terms[k];
    products[term.output].emplace_back(rotated.at({term.input, term.baby}),
                                       input(std::move(term.weight), false, name + " " + std::to_string(k)));
  }
  std::vector<Value> outputs;
  for (const auto& of_output : products) outputs.push_back(builder_.sum_of_products(of_output));
  return outputs;
}

Value WeightInputs::add(Value x, ckks::Plain weight, const std::string& name) {
  return encrypted_ ? builder_.add(x, input(std::move(weight), false, name))
                    : builder_.add_plain(x, std::move(weight));
}

Value WeightInputs::multiply_real(Value x, ckks::Plain weight, const std::string& name) {
  return encrypted_ ? builder_.multiply(x, input(std::move(weight), true, name))
                    : builder_.multiply_plain(x, std::move(weight));
}

}  // namespace psm::nn
