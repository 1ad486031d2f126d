#include "nn/encrypted/encrypted_norm.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// The squares of all ciphertexts meet in one Linear. Two of them are one input z = a + i b, because the real part
// of (v - i w) z is v a + w b.
Value sum_of_tokens(Builder& builder, const std::vector<Value>& squares, std::span<const double> weight) {
  const size_t count = squares.size(), features = weight.size() / count;
  const auto part_of = [&](size_t c) {
    return block_sum_map(weight.subspan(c * features, features), static_cast<int>(features));
  };
  if (count == 1) return builder.linear(squares, part_of(0))[0];
  std::vector<Value> inputs;
  ckks::LinearTransform half;
  for (size_t c = 0; c < count; c += 2) {
    ckks::LinearTransform part = part_of(c), other = c + 1 < count ? part_of(c + 1) : ckks::LinearTransform{};
    for (size_t k = 0; k < part.terms.size(); ++k) {
      std::vector<ckks::Complex> weights = part.terms[k].weight.to_vector(), others;
      if (c + 1 < count) others = other.terms[k].weight.to_vector();
      for (size_t f = 0; f < features; ++f) {
        if (c + 1 < count) weights[f] -= ckks::Complex(0, 1) * others[f];
        weights[f] /= 2;
      }
      part.terms[k].input = static_cast<int>(inputs.size());
      part.terms[k].weight = ckks::Plain(std::move(weights));
      half.terms.push_back(std::move(part.terms[k]));
    }
    inputs.push_back(c + 1 < count ? builder.add(squares[c], builder.times_i(squares[c + 1])) : squares[c]);
  }
  return builder.twice_real_part(builder.linear(inputs, std::move(half))[0]);
}

}  // namespace

std::vector<Value> products_with_inverse_deviation(Builder& builder, std::span<const Value> x,
                                                   const NormArgument& argument,
                                                   const approx::Approximation& inverse_sqrt,
                                                   std::span<const Value> y, WeightInputs* weights,
                                                   const std::string& name) {
  PSM_CHECK(!x.empty() && argument.weight.size() % x.size() == 0, argument.weight.size(), " weights for ",
            x.size(), " ciphertexts");
  const size_t features = argument.weight.size() / x.size();
  const auto repeats = [&](Value value) { return builder.period(value) <= features; };
  Builder::Scope scope(builder, "norm");
  std::vector<Value> squares;
  for (Value value : x)
    squares.push_back(builder.mark_real(builder.multiply(value, builder.conjugate(value))));
  Value sum;
  if (weights != nullptr || std::all_of(x.begin(), x.end(), repeats)) {
    WeightInputs plain(builder, false);
    for (size_t c = 0; c < x.size(); ++c) {
      const auto first = argument.weight.begin() + static_cast<std::ptrdiff_t>(c * features);
      const std::vector<ckks::Complex> own(first, first + static_cast<std::ptrdiff_t>(features));
      squares[c] = (weights != nullptr ? *weights : plain)
                       .multiply_real(squares[c], ckks::Plain(own), name + " " + std::to_string(c));
    }
    sum = builder.sum_over_rotations(builder.add_all(squares), 1);
  } else {
    sum = sum_of_tokens(builder, squares, argument.weight);
  }
  const Value v = builder.refresh(builder.add_constant(sum, argument.offset));
  return build_products(builder, inverse_sqrt, v, y, "variance");
}

std::vector<Value> encrypted_norm(Builder& builder, std::span<const Value> x, const NormArgument& argument,
                                  const approx::Approximation& inverse_sqrt) {
  return builder.refresh(products_with_inverse_deviation(builder, x, argument, inverse_sqrt, x));
}

}  // namespace psm::nn
