// A model over many examples: the forward pass of training, in fp32 and without gradients. It runs in parts,
// one for each thread, of a few sequences of about the same length. With a polynomial model's functions it
// computes the polynomial model.
//
// Functions, 1/sqrt, 1/x and sums that decide on an interval are in double precision; all products are fp32. Logits agree
// to about 1e-5 of the largest with those of attention/reference/polynomial_model.h, one sequence in double precision.
//
// Bits depend neither on the number of threads nor on the other sequences of a part. A part's tensors take
// 128 MiB at most, unless one sequence takes more.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention/shape/examples.h"
#include "attention/shape/functions.h"
#include "attention/trained/model.h"

namespace psm::attention {

// Some of the examples, after their forward pass. Number i of the part is examples[i]. In tensors with a row
// for each token it has the rows from i length on, lengths[i] of them; the rest is filled up.
template <typename Scalar>
struct PartOf {
  std::span<const size_t> examples;
  int length;
  std::span<const int> lengths;
  const ForwardTensors<Scalar>& out;
};
using BatchedPart = PartOf<float>;

struct BatchedOptions {
  bool keep_scores = false;  // ForwardTensors::scores
  bool logits = true;        // if not, a language model's are not computed
  // Which tokens of an example get a row of a language model's logits; empty: all. The rows stand in the order of the
  // part's examples and their tokens.
  std::function<bool(size_t example, size_t token)> has_logits = {};
  std::string progress = {};  // what a progress bar says; empty: none
  // If not -1: this layer alone. `states` has x of each part: what the run of the layer before left there.
  int layer = -1;
  std::vector<std::vector<float>>* states = nullptr;
};

class BatchedModel {
 public:
  // The weights, and objects that `functions` refer to, must outlive the model.
  explicit BatchedModel(const ModelWeights& weights, ReplacedFunctions functions = {});
  explicit BatchedModel(const ModelWeights&& weights, ReplacedFunctions functions = {}) = delete;

  const ModelConfig& config() const { return model_.config; }

  // Calls visit() with every example once. Several threads call it at once, each with other examples. Throws
  // psm::Error on examples that the model cannot read.
  void run(const Examples& examples, const BatchedOptions& options,
           const std::function<void(const BatchedPart&)>& visit) const;

 private:
  ReplacedFunctions functions_;
  Model<float> model_;
};

// The scores of token t of example i in one head of a layer, one for each key that the token sees. The part
// must keep scores.
template <typename Scalar>
std::span<const Scalar> score_row(const ModelConfig& config, const PartOf<Scalar>& part, size_t i, int layer,
                                  int head, int t) {
  const int row = (static_cast<int>(i) * config.heads + head) * part.length + t;
  const int keys = config.causal ? t + 1 : part.lengths[i];
  return {part.out.scores[layer].row(row), static_cast<size_t>(keys)};
}

// Calls `observe` for the values of all sites of example i of a part, in the layers that were run. The part must keep
// scores.
template <typename Scalar>
void observe(const ModelConfig& config, const PartOf<Scalar>& part, size_t i, const Observe& observe);

}  // namespace psm::attention
