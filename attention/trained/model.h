// The trainable model: the equations of config.h recorded on a tape, for a batch of sequences of equal
// length, or filled up to equal length.
//
// Parameters are in one flat array in the order of for_each_parameter. So the optimiser, the gradient's norm
// and the sum over the parts of a batch are plain loops. Several tapes may read the same values at once, each
// with its own gradients.
#pragma once

#include <deque>
#include <span>
#include <type_traits>
#include <vector>

#include "attention/shape/functions.h"
#include "attention/shape/weights.h"
#include "attention/trained/attention_ops.h"
#include "nn/autograd/tape.h"
#include "nn/layers/rotary.h"

namespace psm::attention {

// A stretch of the flat array: one parameter.
struct ParameterSlice {
  std::string name;
  size_t begin;
  int rows, columns;
  size_t size() const { return static_cast<size_t>(rows) * columns; }
};

std::vector<ParameterSlice> parameter_slices(const ModelConfig& config);
std::vector<float> flatten(const ModelWeights& weights);
ModelWeights unflatten(const ModelConfig& config, std::span<const float> values);

// The input of a forward pass: tokens, or patches, sequence by sequence. All of it must outlive the backward
// pass.
struct ModelInput {
  int length = 0;                     // of each sequence, with the class token where there is one
  std::span<const int> tokens = {};   // sequences * length
  std::span<const int> lengths = {};  // real tokens of each sequence, the first ones; empty: all of `length`
  std::span<const float> patches = {};  // sequences * (length - 1) * patch_inputs
  // The tokens that get a row of a language model's logits, by their place in `tokens`; empty: all.
  std::span<const int> rows = {};
  bool logits = true;  // if not, a language model's are not computed
  // If not -1: this layer alone. `state` is x entering it, a row for each token; layer 0 reads the embedding. Logits
  // come after the last layer. The results' lists have empty tensors for the layers before.
  int layer = -1;
  std::span<const float> state = {};
};

// The results of a forward pass, for losses and measurements. Vectors have an entry for each layer, unless
// said otherwise; rows are sequences * length.
template <typename Scalar>
struct ForwardTensors {
  // Requests to the forward pass. Without them `scores` or `score_loss` are empty tensors. The losses must
  // outlive the backward pass.
  bool keep_scores = false;
  const ScoreLosses* score_losses = nullptr;
  nn::Tensor<Scalar>
      logits;  // a row for each of the input's `rows` and column for each word, or the classes of each sequence
  std::vector<nn::Tensor<Scalar>> residual;  // x entering the layer, and leaving the last: layers + 1
  std::vector<nn::Tensor<Scalar>> norm1_inputs, norm2_inputs;  // what the layer's norms are taken of
  std::vector<nn::Tensor<Scalar>> scores;       // (sequences * heads * length) x length, without gradients
  std::vector<nn::Tensor<Scalar>> score_loss;   // 1 x 1
  std::vector<nn::Tensor<Scalar>> gelu_inputs;  // the argument of GELU or SiLU, ffn columns
  nn::Tensor<Scalar> final_norm_input;  // a row for each row of logits; empty where there is no final norm
  nn::Tensor<Scalar> pooler_inputs;     // the argument of the head's sigmoid; empty without a pooler
  std::vector<int> token_types;         // of each token; empty without a separator

  // `layers`: how many will not be computed, before those that are.
  void clear(int layers = 0) {
    for (auto* list : {&residual, &norm1_inputs, &norm2_inputs, &scores, &score_loss, &gelu_inputs})
      list->assign(static_cast<size_t>(layers), {});
    token_types.clear();
    logits = final_norm_input = pooler_inputs = {};
  }
};

// Tensors of all parameters over given arrays of values and gradients. Members have the names of
// ModelWeights; parameters that the configuration does not have stay default tensors.
template <typename Scalar>
class Model {
 public:
  using Layer = LayerFields<nn::Tensor<Scalar>>;

  // values and grads hold all parameters, flat. Both must outlive the model. grads is null for models on
  // tapes without gradients.
  Model(const ModelConfig& shape, Scalar* values, Scalar* grads);
  // Reads the weights where they are, for tapes without gradients. They must outlive the model. A layer that
  // has norms alone (LayerReader) is not for reading.
  explicit Model(const ModelWeights& weights) requires std::is_same_v<Scalar, float>;

  // Call these around a backward pass. The old contents of grads are forgotten without being written.
  // Afterwards the gradients of parameters without any contribution are zero. Without these calls, gradients
  // are added to grads.
  void begin_gradients();
  void end_gradients();

  // Records the forward pass and fills `out`, whose vectors keep their capacity from step to step.
  void forward(nn::Tape<Scalar>& tape, const ModelInput& input, ForwardTensors<Scalar>& out) const;

  Model(const Model&) = delete;  // tensors point into it
  Model& operator=(const Model&) = delete;

  ModelConfig config;
  // If not null: functions in place of exact ones, in the forward pass of a tape without gradients. They must
  // outlive the model.
  const ReplacedFunctions* functions = nullptr;
  nn::Tensor<Scalar> embedding, patch_weight, patch_bias, class_token, position_embedding, type_embedding;
  nn::Tensor<Scalar> embedding_gamma, embedding_beta;
  std::vector<Layer> layers;
  nn::Tensor<Scalar> final_gamma, final_beta, unembedding;
  nn::Tensor<Scalar> pooler_weight, pooler_bias, class_weight, class_bias;

 private:
  nn::Tensor<Scalar> embedded(nn::Tape<Scalar>& tape, const ModelInput& input,
                              ForwardTensors<Scalar>& out) const;
  // A norm with the exact or the replaced 1/sqrt.
  nn::Tensor<Scalar> norm_at(Site site, int layer, nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x,
                             nn::Tensor<Scalar> gamma, nn::Tensor<Scalar> beta) const;
  nn::Tensor<Scalar> attend(nn::Tape<Scalar>& tape, const AttentionShape& shape, const Layer& layer,
                            nn::Tensor<Scalar> n, ForwardTensors<Scalar>& out) const;
  void blocks(nn::Tape<Scalar>& tape, const AttentionShape& shape, nn::Tensor<Scalar> x,
              std::span<const Layer> computed, ForwardTensors<Scalar>& out) const;
  nn::Tensor<Scalar> feed(nn::Tape<Scalar>& tape, const Layer& layer, nn::Tensor<Scalar> n,
                          ForwardTensors<Scalar>& out) const;
  nn::Tensor<Scalar> head(nn::Tape<Scalar>& tape, nn::Tensor<Scalar> x, const ModelInput& input,
                          ForwardTensors<Scalar>& out) const;

  nn::RotaryTable<Scalar> rotary_;
  std::deque<nn::PlacedGradient<Scalar>> gradients_;  // of each parameter, which points to it
};

}  // namespace psm::attention
