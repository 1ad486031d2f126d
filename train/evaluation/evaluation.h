// How good a model is on held-out examples, run in fp32 on the training forms.
#pragma once

#include <cmath>
#include <functional>

#include "attention/trained/model.h"
#include "train/data/data.h"

namespace psm {

struct Evaluation {
  size_t scored = 0;         // positions
  size_t correct = 0;        // argmax equal to the target
  double cross_entropy = 0;  // mean over the scored positions, nats

  double accuracy() const {
    return scored == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(scored);
  }
  double perplexity() const { return std::exp(cross_entropy); }
};

// Same result for every number of threads.
Evaluation evaluate(const ModelWeights& weights, const Batch& batch);

// Runs the model over the batch in small parts, on several threads, and shows each part's tensors to `visit`,
// one part at a time and in order: visit(index of its first sequence, sequences, tensors). Throws psm::Error on
// images that are not finite.
using VisitForward = std::function<void(int first, int count, const ForwardTensors<float>& out)>;
void for_each_forward(const ModelWeights& weights, const Batch& batch, const VisitForward& visit);

}  // namespace psm
