// Weights of a slot program: plaintexts, or inputs. Inputs stay hidden from the server, because their owner
// sends them as ciphertexts, under the key of the other inputs.
//
// With inputs, a map's inner sum is a sum of products of ciphertexts with one relinearisation. It takes the
// same level as with plaintexts. Names, order and number of the inputs depend on the calls alone, not on the
// weights. Without values (Plain::shape_only) the program is the same.
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

  // Applies a map without giants or conjugations, as dense_linear.h makes it.
  std::vector<program::Value> linear(std::span<const program::Value> sources, ckks::LinearTransform,
                                     const std::string& name);
  program::Value add(program::Value, ckks::Plain, const std::string& name);
  program::Value multiply_real(program::Value, ckks::Plain, const std::string& name);

  // Makes the weight an input. `real` declares it real, whatever the values are.
  program::Value input(ckks::Plain, bool real, const std::string& name);

  // The weights that became inputs, in order.
  std::vector<WeightInput> take() && { return std::move(inputs_); }

 private:
  program::Builder& builder_;
  bool encrypted_;
  std::vector<WeightInput> inputs_;
};

}  // namespace psm::nn
