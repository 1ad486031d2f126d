// What holds the matrices of queries and keys, beside the optimiser. PowerSoftmax without an offset or an
// epsilon does not change when a head's W_q or W_k is multiplied by a number (score_scale.h), so a step along
// the gradient only ever lengthens them, and weight decay alone shortens them.
//
// A fixed norm stands in for normalised queries and keys: it is free when the model runs encrypted, where
// those would take two more inverse square roots a head and token and their levels. With a fixed norm a
// learned scale for each head is what W_q's norm was.
#pragma once

#include <span>
#include <vector>

#include "attention/trained/model.h"

namespace psm::train {

struct QueryKeyHold {
  double decay = 0;    // beside AdamW's:  W <- (1 - rate decay) W
  bool fixed = false;  // the rows of each head keep the Frobenius norm that they began with
};

class QueryKeyHolder {
 public:
  QueryKeyHolder(const attention::ModelConfig& config, std::span<const float> initial,
                 const QueryKeyHold& hold);
  // After a step at this rate.
  void apply(std::span<float> values, double rate) const;

 private:
  struct Head {
    size_t begin, size;  // in the flat values
    double norm;         // at the beginning
  };
  QueryKeyHold hold_;
  std::vector<Head> heads_;
};

}  // namespace psm::train
