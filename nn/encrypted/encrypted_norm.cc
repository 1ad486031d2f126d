#include "nn/encrypted/encrypted_norm.h"

#include <algorithm>

#include "ckks/base/error.h"
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

Value sum_of_one_token(Builder& builder, const std::vector<Value>& squares, std::span<const double> weight) {
  const size_t features = weight.size() / squares.size();
  std::vector<Value> weighted;
  for (size_t c = 0; c < squares.size(); ++c) {
    const std::span<const double> of_square = weight.subspan(c * features, features);
    weighted.push_back(builder.multiply_plain(
        squares[c], ckks::Plain(std::vector<ckks::Complex>(of_square.begin(), of_square.end()))));
  }
  return builder.sum_over_rotations(builder.add_all(weighted), 1);
}

}  // namespace

std::vector<Value> encrypted_norm(Builder& builder, std::span<const Value> x, std::span<const double> weight,
                                  double offset, const approx::Approximation& inverse_sqrt) {
  PSM_CHECK(!x.empty() && weight.size() % x.size() == 0, weight.size(), " weights for ", x.size(),
            " ciphertexts");
  const size_t features = weight.size() / x.size();
  Builder::Scope scope(builder, "norm");
  std::vector<Value> squares;
  for (Value value : x)
    squares.push_back(builder.mark_real(builder.multiply(value, builder.conjugate(value))));
  const bool one_token =
      std::all_of(x.begin(), x.end(), [&](Value value) { return builder.period(value) <= features; });
  const Value sum =
      one_token ? sum_of_one_token(builder, squares, weight) : sum_of_tokens(builder, squares, weight);
  const Value v = builder.refresh(builder.add_constant(sum, offset));
  const Value r = builder.refresh(inverse_sqrt.build(builder, v, "variance"));
  std::vector<Value> h;
  for (Value value : x) h.push_back(builder.multiply(value, r));
  return builder.refresh(h);
}

}  // namespace psm::nn
