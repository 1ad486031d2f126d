#include "nn/encrypted/encrypted_norm.h"

#include "ckks/base/error.h"
#include "nn/encrypted/encrypted_sum.h"

namespace psm::nn {

using program::Builder;
using program::Value;

std::vector<Value> encrypted_norm(Builder& builder, std::span<const Value> x, std::span<const double> weight,
                                  double offset, const approx::Approximation& inverse_sqrt) {
  PSM_CHECK(!x.empty() && weight.size() % x.size() == 0, weight.size(), " weights for ", x.size(),
            " ciphertexts");
  const size_t features = weight.size() / x.size();
  Builder::Scope scope(builder, "norm");
  // The squares of all ciphertexts meet in one Linear with as many inputs.
  std::vector<Value> squares;
  ckks::LinearTransform sum;
  for (size_t c = 0; c < x.size(); ++c) {
    squares.push_back(builder.mark_real(builder.multiply(x[c], builder.conjugate(x[c]))));
    ckks::LinearTransform part =
        block_sum_map(weight.subspan(c * features, features), static_cast<int>(features));
    for (ckks::TransformTerm& term : part.terms) {
      term.input = static_cast<int>(c);
      sum.terms.push_back(std::move(term));
    }
  }
  const Value v = builder.refresh(builder.add_constant(builder.linear(squares, std::move(sum))[0], offset));
  const Value r = builder.refresh(inverse_sqrt.build(builder, v, "variance"));
  std::vector<Value> h;
  for (Value value : x) h.push_back(builder.multiply(value, r));
  return builder.refresh(h);
}

}  // namespace psm::nn
