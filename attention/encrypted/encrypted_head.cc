#include "attention/encrypted/encrypted_head.h"

#include <utility>

#include "nn/encrypted/encrypted_activation.h"
#include "nn/encrypted/encrypted_norm.h"

namespace psm::attention {

using program::Builder;
using program::Value;
using Values = std::vector<Value>;

namespace {

Values linear(Builder& builder, const Values& x, const nn::SlotMatrix& matrix,
              const std::vector<ckks::Plain>& bias) {
  Values y = nn::encrypted_linear(builder, x, {&matrix, 1});
  for (size_t i = 0; i < y.size(); ++i) y[i] = builder.add_plain(y[i], bias[i]);
  return y;
}

Values first_token(Builder& builder, const Values& state, const Packing& packing) {
  const size_t stride = static_cast<size_t>(packing.token_stride());
  std::vector<ckks::Complex> mask(packing.period());
  std::fill_n(mask.begin(), stride, 1.0);
  const ckks::Plain plain(std::move(mask));
  Values first;
  for (Value value : state)
    first.push_back(builder.sum_over_rotations(builder.multiply_plain(value, plain), stride));
  return first;
}

}  // namespace

FoldedHead fold_head(const PolynomialModel& model, const Packing& packing) {
  const ModelWeights& w = model.weights;
  const int F = packing.features;
  FoldedHead folded;
  folded.inverse_sqrt = model.final_inverse_sqrt;
  folded.sigmoid = model.pooler;
  const NormReading h =
      w.config.has_final_norm()
          ? reading_of(w.final_gamma, w.final_beta, model, packing, &*model.final_inverse_sqrt)
          : reading_of(w.layers.back().norm2_gamma, w.layers.back().norm2_beta, model, packing,
                       &*model.layers.back().second_inverse_sqrt);
  if (w.config.has_final_norm()) folded.norm = fold_norm(model, packing, *model.final_inverse_sqrt);
  if (!w.config.pooler) {
    folded.classes = h.matrix(w.class_weight, packing.classes, packing.state, 1);
    folded.class_bias = arrange(packing.classes, F, h.bias(w.class_weight, w.class_bias));
    return folded;
  }
  const double in = model.pooler->input_scale() / 2, out = model.pooler->output_scale();
  folded.pooler = h.matrix(w.pooler_weight, packing.state, packing.state, in);
  folded.pooler_bias = arrange(packing.state, F, scaled(h.bias(w.pooler_weight, w.pooler_bias), in));
  const size_t d = static_cast<size_t>(w.config.width);
  folded.classes = {packing.classes.size(), packing.state.size(), {}};
  if (!w.class_weight.empty())
    folded.classes = arrange(packing.classes, packing.state, [&](int row, int column) {
      return out * static_cast<double>(w.class_weight[row * d + column]);
    });
  folded.class_bias = arrange(packing.classes, F, {w.class_bias.begin(), w.class_bias.end()});
  return folded;
}

Values encrypted_head(Builder& builder, const Values& state, const FoldedHead& folded,
                      const Packing& packing) {
  Builder::Scope scope(builder, "head");
  Values h = first_token(builder, builder.refresh(state), packing);
  if (folded.inverse_sqrt) {
    h = builder.refresh(h);
    h = nn::encrypted_norm(builder, h, folded.norm.weight, folded.norm.offset, *folded.inverse_sqrt);
  }
  if (folded.sigmoid) {
    h = linear(builder, h, folded.pooler, folded.pooler_bias);
    h = nn::encrypted_gelu(builder, h, *folded.sigmoid, "sigmoid");
  }
  return linear(builder, h, folded.classes, folded.class_bias);
}

}  // namespace psm::attention
