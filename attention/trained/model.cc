#include "attention/trained/model.h"

#include <algorithm>

#include "attention/shape/examples.h"
#include "ckks/base/error.h"
#include "nn/layers/activations.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"

namespace psm::attention {
namespace {

// Replaces each value of x by the function's, row by row. Has no backward pass.
template <typename Scalar>
nn::Tensor<Scalar> apply_function(nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x, const RowFunction& function) {
  const nn::Tensor<Scalar> y = tape.tensor(x.rows, x.columns);
  for (int r = 0; r < x.rows; ++r)
    apply_in_double(x.row(r), static_cast<size_t>(x.columns), y.row(r), function);
  return y;
}

}  // namespace

std::vector<ParameterSlice> parameter_slices(const ModelConfig& config) {
  ModelWeights empty;  // for_each_parameter only needs the number of layers
  empty.config = config;
  empty.layers.resize(config.layers);
  std::vector<ParameterSlice> slices;
  size_t begin = 0;
  for_each_parameter(empty, [&](const std::string& name, const auto&, int rows, int columns) {
    slices.push_back({name, begin, rows, columns});
    begin += slices.back().size();
  });
  return slices;
}

std::vector<float> flatten(const ModelWeights& weights) {
  std::vector<float> values;
  values.reserve(weights.parameters());
  for_each_parameter(weights, [&](const std::string&, const std::vector<float>& field, int, int) {
    values.insert(values.end(), field.begin(), field.end());
  });
  return values;
}

ModelWeights unflatten(const ModelConfig& config, std::span<const float> values) {
  ModelWeights weights;
  weights.resize(config);
  PSM_CHECK(values.size() == weights.parameters(), values.size());
  size_t begin = 0;
  for_each_parameter(weights, [&](const std::string&, std::vector<float>& field, int, int) {
    std::copy_n(values.begin() + begin, field.size(), field.begin());
    begin += field.size();
  });
  return weights;
}

template <typename Scalar>
Model<Scalar>::Model(const ModelConfig& shape, Scalar* values, Scalar* grads)
    : config(shape), layers(shape.layers), rotary_(shape.context, shape.rotary_dims(), shape.rotary_base) {
  size_t begin = 0;
  for_each_parameter(*this, [&](const std::string&, nn::Tensor<Scalar>& tensor, int rows, int columns) {
    tensor = {values + begin, nullptr, rows, columns};
    if (grads)
      tensor.grad = nn::Gradient<Scalar>(&gradients_.emplace_back(
          nn::PlacedGradient<Scalar>{.fixed = grads + begin, .place = grads + begin}));
    begin += tensor.size();
  });
}

template <typename Scalar>
Model<Scalar>::Model(const ModelWeights& weights) requires std::is_same_v<Scalar, float>
    : config(weights.config),
      layers(config.layers),
      rotary_(config.context, config.rotary_dims(), config.rotary_base) {
  std::vector<const float*> values;
  for_each_parameter(weights,
                     [&](const std::string&, const std::vector<float>& field, int rows, int columns) {
                       PSM_CHECK(field.empty() || field.size() == static_cast<size_t>(rows) * columns);
                       values.push_back(field.data());
                     });
  size_t next = 0;
  for_each_parameter(*this, [&](const std::string&, nn::Tensor<float>& tensor, int rows, int columns) {
    tensor = {const_cast<float*>(values[next++]), nullptr, rows,
              columns};  // tapes without gradients only read
  });
}

template <typename Scalar>
void Model<Scalar>::begin_gradients() {
  for (nn::PlacedGradient<Scalar>& gradient : gradients_) gradient.place = nullptr;
}

template <typename Scalar>
void Model<Scalar>::end_gradients() {
  for_each_parameter(
      *this, [](const std::string&, const nn::Tensor<Scalar>& tensor, int, int) { tensor.start_gradient(); });
}

template <typename Scalar>
nn::Tensor<Scalar> Model<Scalar>::embedded(nn::Tape<Scalar>& tape, const ModelInput& input,
                                           ForwardTensors<Scalar>& out) const {
  nn::Tensor<Scalar> x;
  if (config.patch_inputs > 0) {
    const int patches = input.length - 1, rows = static_cast<int>(input.patches.size()) / config.patch_inputs;
    const nn::Tensor<Scalar> pixels = tape.tensor(rows, config.patch_inputs);
    std::copy(input.patches.begin(), input.patches.end(), pixels.value);
    x = nn::prepend_row(tape, class_token, nn::linear(tape, pixels, patch_weight, patch_bias), patches);
  } else {
    x = nn::embed(tape, input.tokens, embedding);
  }
  if (config.separator > 0) {
    const auto length = static_cast<size_t>(input.length);
    for (size_t begin = 0; begin < input.tokens.size(); begin += length)
      append_token_types(input.tokens.subspan(begin, length), config.separator, out.token_types);
    x = nn::embed(tape, std::span<const int>(out.token_types), type_embedding, x);
  }
  if (config.positions == PositionKind::kLearned)
    x = nn::add_positions(tape, x, position_embedding, input.length);
  if (config.block == BlockKind::kPostNorm)
    x = nn::norm(tape, x, embedding_gamma, embedding_beta, config.norm_epsilon);
  return x;
}

template <typename Scalar>
nn::Tensor<Scalar> Model<Scalar>::norm_at(Site site, int layer, nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x,
                                          nn::Tensor<Scalar> gamma, nn::Tensor<Scalar> beta) const {
  if (!functions || !functions->inverse_square_root)
    return nn::norm(tape, x, gamma, beta, config.norm_epsilon);
  return apply_function(tape, x, [&](std::span<double> row) {
    const auto [mean, variance] = nn::norm_moments(row.data(), config.width, beta.value != nullptr);
    const double inverse = functions->inverse_square_root(site, layer, variance + config.norm_epsilon);
    for (size_t f = 0; f < row.size(); ++f)
      row[f] = (row[f] - mean) * inverse * gamma.value[f] + (beta.value ? beta.value[f] : Scalar(0));
  });
}

template <typename Scalar>
nn::Tensor<Scalar> Model<Scalar>::attend(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                         const Layer& layer, nn::Tensor<Scalar> n,
                                         ForwardTensors<Scalar>& out) const {
  const int index = static_cast<int>(&layer - layers.data());
  RowFunction replaced;
  if (functions && functions->row_weights)
    replaced = [&](std::span<double> row) { functions->row_weights(index, row); };
  const auto rotated = [&](nn::Tensor<Scalar> w, nn::Tensor<Scalar> b, int heads) {
    return nn::rotate_pairs(tape, rotary_, nn::linear(tape, n, w, b), shape.length, heads);
  };
  const auto q = rotated(layer.wq, layer.bq, config.heads),
             k = rotated(layer.wk, layer.bk, config.key_heads());
  const auto v = nn::linear(tape, n, layer.wv, layer.bv);
  const AttentionTensors<Scalar> mixture =
      attention(tape, shape, config, q, k, v, layer.score_offset,
                {out.keep_scores, out.score_losses, replaced ? &replaced : nullptr});
  out.scores.push_back(mixture.scores);
  out.score_loss.push_back(mixture.loss);
  return nn::linear(tape, mixture.o, layer.wo, layer.bo);
}

template <typename Scalar>
nn::Tensor<Scalar> Model<Scalar>::feed(nn::Tape<Scalar>& tape, const Layer& layer, nn::Tensor<Scalar> n,
                                       ForwardTensors<Scalar>& out) const {
  const bool gated = config.feed_forward == FeedForwardKind::kSwiGlu;
  const auto up = nn::linear(tape, n, layer.w_up, layer.b_up);
  const auto input = gated ? nn::linear(tape, n, layer.w_gate, nn::Tensor<Scalar>{}) : up;
  const int index = static_cast<int>(&layer - layers.data());
  auto hidden =
      functions && functions->gelu
          ? apply_function(tape, input, [&](std::span<double> z) { functions->gelu(index, z); })
      : gated                                             ? nn::swish(tape, input, 1.0)
      : config.feed_forward == FeedForwardKind::kGeluErf  ? nn::gated<nn::NormalIntegral<Scalar>>(tape, input)
      : config.feed_forward == FeedForwardKind::kGeluTanh ? nn::gated<nn::CubicSigmoid<Scalar>>(tape, input)
                                                          : nn::swish(tape, input, nn::kGeluSlope);
  if (gated) hidden = nn::multiply(tape, hidden, up);
  out.gelu_inputs.push_back(input);
  return nn::linear(tape, hidden, layer.w_down, layer.b_down);
}

template <typename Scalar>
nn::Tensor<Scalar> Model<Scalar>::head(nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x, const ModelInput& input,
                                       ForwardTensors<Scalar>& out) const {
  if (config.classes > 0)
    x = config.mean_pooling ? nn::mean_rows(tape, x, input.length, input.lengths)
                            : nn::first_rows(tape, x, input.length);
  else if (!input.rows.empty())
    x = nn::embed(tape, input.rows, x);
  if (config.head_has_norm()) {
    out.final_norm_input = x;
    nn::Tensor<Scalar> gamma = final_gamma;
    if (config.mean_pooling) {
      gamma = tape.tensor(1, config.width);
      std::fill_n(gamma.value, gamma.size(), Scalar(1));
    }
    x = norm_at(Site::kVariance, config.layers, tape, x, gamma, final_beta);
  }
  if (config.classes == 0 && !input.logits) return {};
  if (config.classes == 0) return nn::linear(tape, x, unembedding, nn::Tensor<Scalar>{});
  if (config.pooler) {
    out.pooler_inputs = nn::linear(tape, x, pooler_weight, pooler_bias);
    x = functions && functions->pooler ? apply_function(tape, out.pooler_inputs, functions->pooler)
                                       : nn::sigmoid(tape, out.pooler_inputs);
  }
  return nn::linear(tape, x, class_weight, class_bias);
}

template <typename Scalar>
void Model<Scalar>::forward(nn::Tape<Scalar>& tape, const ModelInput& input,
                            ForwardTensors<Scalar>& out) const {
  const int length = input.length;
  const bool patches = config.patch_inputs > 0;
  const size_t one = patches ? (length - size_t{1}) * config.patch_inputs : size_t(length);
  const size_t size = patches ? input.patches.size() : input.tokens.size();
  PSM_CHECK(length > 0 && length <= config.context && one > 0 && size % one == 0, size, " ", length);
  PSM_CHECK(input.lengths.empty() || input.lengths.size() == size / one, input.lengths.size());
  const AttentionShape shape{static_cast<int>(size / one), length,
                             input.lengths.empty() ? nullptr : input.lengths.data()};
  const bool alone = input.layer >= 0;
  out.clear(std::max(0, input.layer));
  nn::Tensor<Scalar> x;
  if (input.layer <= 0) {
    x = embedded(tape, input, out);
  } else {
    x = tape.tensor(static_cast<int>(size / one) * length, config.width);
    PSM_CHECK(input.layer < config.layers && input.state.size() == x.size(), input.layer);
    std::copy(input.state.begin(), input.state.end(), x.value);
  }
  const std::span<const Layer> all(layers);
  blocks(tape, shape, x, alone ? all.subspan(static_cast<size_t>(input.layer), 1) : all, out);
  if (!alone || input.layer + 1 == config.layers) out.logits = head(tape, out.residual.back(), input, out);
}

template <typename Scalar>
void Model<Scalar>::blocks(nn::Tape<Scalar>& tape, const AttentionShape& shape, nn::Tensor<Scalar> x,
                           std::span<const Layer> computed, ForwardTensors<Scalar>& out) const {
  for (const Layer& layer : computed) {
    const int n = static_cast<int>(&layer - layers.data());
    const auto norm1 = [&](nn::Tensor<Scalar> y) {
      out.norm1_inputs.push_back(y);
      return norm_at(Site::kVariance, n, tape, y, layer.norm1_gamma, layer.norm1_beta);
    };
    const auto norm2 = [&](nn::Tensor<Scalar> y) {
      out.norm2_inputs.push_back(y);
      const Site site = config.block == BlockKind::kParallel ? Site::kVariance : Site::kSecondVariance;
      return norm_at(site, n, tape, y, layer.norm2_gamma, layer.norm2_beta);
    };
    out.residual.push_back(x);
    switch (config.block) {
      case BlockKind::kParallel: {
        const auto n1 = norm1(x), n2 = norm2(x);
        const auto attended = attend(tape, shape, layer, n1, out);
        x = nn::add(tape, x, attended, feed(tape, layer, n2, out));
        break;
      }
      case BlockKind::kPreNorm:
        x = nn::add(tape, x, attend(tape, shape, layer, norm1(x), out));
        x = nn::add(tape, x, feed(tape, layer, norm2(x), out));
        break;
      case BlockKind::kPostNorm:
        x = norm1(nn::add(tape, x, attend(tape, shape, layer, x, out)));
        x = norm2(nn::add(tape, x, feed(tape, layer, x, out)));
        break;
    }
  }
  out.residual.push_back(x);
}

template class Model<float>;
template class Model<double>;

}  // namespace psm::attention
