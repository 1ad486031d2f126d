// The quality of a model on held-out examples.
#pragma once

#include <cmath>
#include <string>

#include "attention/batched/batched_model.h"
#include "train/data/data.h"

namespace psm::train {

struct Evaluation {
  size_t scored = 0;         // positions
  size_t correct = 0;        // argmax equal to the target
  double cross_entropy = 0;  // mean over the scored positions, nats

  double accuracy() const {
    return scored == 0 ? 0.0 : static_cast<double>(correct) / static_cast<double>(scored);
  }
  double perplexity() const { return std::exp(cross_entropy); }
};

// The result does not depend on the number of threads. Both throw psm::Error on examples that the model
// cannot read.
Evaluation evaluate(const attention::ModelWeights& weights, const Batch& batch);
// `progress`: the text of a progress bar; empty: none.
Evaluation evaluate(const attention::BatchedModel& model, const Batch& batch,
                    const std::string& progress = {});

}  // namespace psm::train
