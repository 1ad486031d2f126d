// Measures the ranges of a model's values over many examples. The result does not depend on the number of
// threads. Shows a progress bar.
#pragma once

#include <span>

#include "attention/shape/examples.h"
#include "attention/shape/functions.h"
#include "attention/shape/ranges.h"
#include "attention/shape/weights.h"

namespace psm::attention {

// Measures the ranges of the values that a forward pass shows (functions.h).
class RangeMeter {
 public:
  explicit RangeMeter(const ModelConfig& config);
  void see(Site site, int layer, std::span<const double> values);
  // Returns the ranges of all values seen so far.
  Ranges ranges() const;

 private:
  void see_residual(std::span<const double> x);
  bool centred_, post_norm_, classifies_;
  Ranges seen_;
};

// Throws psm::Error without examples, and on one that the model cannot read.
Ranges measure_ranges(const ModelWeights& weights, const Examples& examples);

}  // namespace psm::attention
