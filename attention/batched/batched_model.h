// A model over many examples: the forward pass of training, in fp32 and without gradients, in parts of a few
// sequences of about the same length, a part a thread. With a polynomial model's functions it is that model.
//
// What the functions compute, and 1/sqrt, 1/x and sums that decide on an interval, is in double precision;
// all products are fp32. attention/reference is what it is compared with: logits agree to some 1e-5 of the
// largest.
//
// The same bits for any number of threads, and for whatever else is in a part. A part's tensors take 128 MiB
// at most, unless one sequence takes more.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "attention/shape/examples.h"
#include "attention/shape/functions.h"
#include "attention/trained/model.h"

namespace psm::attention {

// Some of the examples, after their forward pass: number i of them has the rows i length .. i length +
// lengths[i] of what has a row for each token (the rest is filled up), and is number examples[i] of all.
struct BatchedPart {
  std::span<const size_t> examples;
  int length;
  std::span<const int> lengths;
  const ForwardTensors<float>& out;
};

struct BatchedOptions {
  bool keep_scores = false;   // ForwardTensors::scores
  std::string progress = {};  // what a progress bar says; empty: none
};

class BatchedModel {
 public:
  // What `functions` refer to outlives it.
  explicit BatchedModel(const ModelWeights& weights, ReplacedFunctions functions = {});
  BatchedModel(const BatchedModel&) = delete;
  BatchedModel& operator=(const BatchedModel&) = delete;

  const ModelConfig& config() const { return model_.config; }

  // Shows every example once; several threads call visit at once, each with other examples. Throws psm::Error
  // on examples that the model cannot read.
  void run(const Examples& examples, const BatchedOptions& options,
           const std::function<void(const BatchedPart&)>& visit) const;

 private:
  std::vector<float> values_;
  ReplacedFunctions functions_;
  Model<float> model_;
};

// The scores of token t of example i of a part, whose scores are kept, in one head of a layer: one for each key
// that the token sees.
std::span<const float> score_row(const ModelConfig& config, const BatchedPart& part, size_t i, int layer,
                                 int head, int t);

// Shows what reference_forward's hook is shown of example i of a part, whose scores are kept.
void observe(const ModelConfig& config, const BatchedPart& part, size_t i, const Observe& observe);

}  // namespace psm::attention
