// What a model's values span on given data: the intervals that its polynomials must hold on.
//
// Measured by the reference forward pass (exact functions). Notation as in config.h; x is centred (less its
// mean over the features), as the encrypted residual stream is.
#pragma once

#include <span>
#include <vector>

#include "approx/interval.h"
#include "attention/weights.h"

namespace psm {

struct LayerRanges {
  Interval variance;      // of x entering the layer, + norm_epsilon: the input of 1/sqrt
  Interval denominator;   // mean_i s_i^p + epsilon, all heads: the input of 1/x (PowerSoftmax models; else 0)
  double score = 0;       // max |s|
  double gelu_input = 0;  // max |W_up n2 + b_up|
};

struct Ranges {
  std::vector<double> residual;  // max |x_f| entering any layer, for each of the d features
  std::vector<LayerRanges> layers;
  Interval final_variance;  // of the final norm, which the client computes exactly
};

Ranges measure_ranges(const ModelWeights&, std::span<const std::vector<int>> sequences);

// The smallest ranges that hold both.
Ranges join(const Ranges&, const Ranges&);

}  // namespace psm
