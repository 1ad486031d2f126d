#include "nn/encrypted/encrypted_norm.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_function.h"
#include "nn/encrypted/encrypted_sum.h"

namespace psm::nn {

using program::Builder;
using program::Value;

namespace {

// The squares of all ciphertexts meet in one Linear with as many inputs.
Value sum_of_tokens(Builder& builder, const std::vector<Value>& squares, std::span<const double> weight) {
  const size_t features = weight.size() / squares.size();
  ckks::LinearTransform sum;
  for (size_t c = 0; c < squares.size(); ++c) {
    ckks::LinearTransform part =
        block_sum_map(weight.subspan(c * features, features), static_cast<int>(features));
    for (ckks::TransformTerm& term : part.terms) {
      term.input = static_cast<int>(c);
      sum.terms.push_back(std::move(term));
    }
  }
  return builder.linear(squares, std::move(sum))[0];
}

std::vector<Value> squares_of(Builder& builder, std::span<const Value> x) {
  std::vector<Value> squares;
  for (Value value : x)
    squares.push_back(builder.mark_real(builder.multiply(value, builder.conjugate(value))));
  return squares;
}

// y r, from the sum that v is but for its offset.
std::vector<Value> divided(Builder& builder, std::span<const Value> y, Value sum, double offset,
                           const approx::Approximation& inverse_sqrt) {
  const Value v = builder.refresh(builder.add_constant(sum, offset));
  return build_products(builder, inverse_sqrt, v, y, "variance");
}

void require_weights(std::span<const Value> x, std::span<const double> weight) {
  PSM_CHECK(!x.empty() && weight.size() % x.size() == 0, weight.size(), " weights for ", x.size(),
            " ciphertexts");
}

}  // namespace

std::vector<Value> products_with_inverse_deviation(Builder& builder, std::span<const Value> x,
                                                   std::span<const double> weight, double offset,
                                                   const approx::Approximation& inverse_sqrt,
                                                   std::span<const Value> y) {
  require_weights(x, weight);
  const size_t features = weight.size() / x.size();
  if (std::all_of(x.begin(), x.end(), [&](Value value) { return builder.period(value) <= features; })) {
    WeightInputs plain(builder, false);
    return products_with_inverse_deviation_of_token(builder, plain, x, weight, offset, inverse_sqrt, y, {});
  }
  Builder::Scope scope(builder, "norm");
  return divided(builder, y, sum_of_tokens(builder, squares_of(builder, x), weight), offset, inverse_sqrt);
}

std::vector<Value> products_with_inverse_deviation_of_token(Builder& builder, WeightInputs& weights,
                                                            std::span<const Value> x,
                                                            std::span<const double> weight, double offset,
                                                            const approx::Approximation& inverse_sqrt,
                                                            std::span<const Value> y,
                                                            const std::string& name) {
  require_weights(x, weight);
  const size_t features = weight.size() / x.size();
  Builder::Scope scope(builder, "norm");
  std::vector<Value> weighted = squares_of(builder, x);
  for (size_t c = 0; c < x.size(); ++c) {
    const std::span<const double> of_square = weight.subspan(c * features, features);
    weighted[c] = weights.multiply_real(
        weighted[c], ckks::Plain(std::vector<ckks::Complex>(of_square.begin(), of_square.end())),
        name + " " + std::to_string(c));
  }
  const Value sum = builder.sum_over_rotations(builder.add_all(weighted), 1);
  return divided(builder, y, sum, offset, inverse_sqrt);
}

std::vector<Value> encrypted_norm(Builder& builder, std::span<const Value> x, std::span<const double> weight,
                                  double offset, const approx::Approximation& inverse_sqrt) {
  return builder.refresh(products_with_inverse_deviation(builder, x, weight, offset, inverse_sqrt, x));
}

}  // namespace psm::nn
