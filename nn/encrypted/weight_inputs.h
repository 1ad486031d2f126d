// Weights of a slot program that are plaintexts, or inputs: then whoever runs it never sees them, because their
// owner sends them as ciphertexts under the key that the other inputs are under.
//
// With inputs a map's inner sum is one of products of ciphertexts, with one relinearisation: the same level as
// with plaintexts. The names of the inputs, their order and their number follow from the calls alone, not from
// what the weights are; without values (Plain::shape_only) the program is the same.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ckks/program/program.h"

namespace psm::nn {

struct WeightInput {
  std::string name;
  ckks::Plain weight;
};

class WeightInputs {
 public:
  // The builder outlives the object.
  WeightInputs(program::Builder& builder, bool encrypted) : builder_(builder), encrypted_(encrypted) {}

  bool encrypted() const { return encrypted_; }

  // A map of sources without giants or conjugations, which dense_linear.h makes.
  std::vector<program::Value> linear(std::span<const program::Value> sources, ckks::LinearTransform,
                                     const std::string& name);
  program::Value add(program::Value, ckks::Plain, const std::string& name);
  program::Value multiply_real(program::Value, ckks::Plain, const std::string& name);

  // The weight itself, as an input; `real`: whatever the values are.
  program::Value input(ckks::Plain, bool real, const std::string& name);

  // All that became inputs, in order; none of plaintexts.
  std::vector<WeightInput> take() && { return std::move(inputs_); }

 private:
  program::Builder& builder_;
  bool encrypted_;
  std::vector<WeightInput> inputs_;
};

}  // namespace psm::nn
