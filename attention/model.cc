#include "attention/model.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "nn/activations.h"
#include "nn/embedding.h"
#include "nn/layer_norm.h"
#include "nn/linear.h"

namespace psm {

std::vector<ParameterSlice> parameter_slices(const ModelConfig& config) {
  ModelWeights empty;  // for_each_parameter only needs the number of layers
  empty.config = config;
  empty.layers.resize(config.layers);
  std::vector<ParameterSlice> slices;
  std::size_t begin = 0;
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
  std::size_t begin = 0;
  for_each_parameter(weights, [&](const std::string&, std::vector<float>& field, int, int) {
    std::copy_n(values.begin() + begin, field.size(), field.begin());
    begin += field.size();
  });
  return weights;
}

template <typename Scalar>
Model<Scalar>::Model(const ModelConfig& shape, Scalar* values, Scalar* grads)
    : config(shape), layers(shape.layers), rotary_(shape.context, shape.rotary_dims(), shape.rotary_base) {
  if (const std::string other = shape.departure_from_gpt_neox(); !other.empty())
    throw Error(message("this model cannot be trained yet: ", other, "; give GPT-NeoX's architecture"));
  std::size_t begin = 0;
  for_each_parameter(*this, [&](const std::string&, Tensor<Scalar>& tensor, int rows, int columns) {
    tensor = {values + begin, grads + begin, rows, columns};
    begin += tensor.size();
  });
}

template <typename Scalar>
void Model<Scalar>::forward(Tape<Scalar>& tape, std::span<const int> tokens, int length,
                            ForwardTensors<Scalar>& out) const {
  PSM_CHECK(length > 0 && length <= config.context && tokens.size() % length == 0, tokens.size(), " ",
            length);
  const AttentionShape shape{static_cast<int>(tokens.size()) / length, length, config.heads,
                             config.head_dim()};
  out.clear();

  Tensor<Scalar> x = embed(tape, tokens, embedding);
  for (const Layer& layer : layers) {
    out.residual.push_back(x);
    const auto n1 = layer_norm(tape, x, layer.norm1_gamma, layer.norm1_beta, config.norm_epsilon);
    const auto n2 = layer_norm(tape, x, layer.norm2_gamma, layer.norm2_beta, config.norm_epsilon);
    const auto q = rotate(tape, rotary_, linear(tape, n1, layer.wq, layer.bq), length, config.heads);
    const auto k = rotate(tape, rotary_, linear(tape, n1, layer.wk, layer.bk), length, config.heads);
    const auto v = linear(tape, n1, layer.wv, layer.bv);
    const auto scores = out.keep_scores ? attention_scores(tape, shape, q, k) : Tensor<Scalar>{};
    const auto mixed = attention(tape, shape, config, q, k, v, scores);
    const auto gelu_input = linear(tape, n2, layer.w_up, layer.b_up);
    const auto fed = linear(tape, gelu(tape, gelu_input), layer.w_down, layer.b_down);
    x = add(tape, x, linear(tape, mixed, layer.wo, layer.bo), fed);
    out.queries.push_back(q);
    out.keys.push_back(k);
    out.values.push_back(v);
    out.scores.push_back(scores);
    out.mixed.push_back(mixed);
    out.gelu_inputs.push_back(gelu_input);
  }
  out.residual.push_back(x);
  const auto normed = layer_norm(tape, x, final_gamma, final_beta, config.norm_epsilon);
  out.logits = linear(tape, normed, unembedding, Tensor<Scalar>{});
}

template class Model<float>;
template class Model<double>;

}  // namespace psm
