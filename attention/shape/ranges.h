// The ranges of a model's values on given data. Its polynomials must hold on them.
//
// attention/trained/measure.h measures them over many examples, with exact functions. Notation as in config.h. If
// LayerNorm reads x, x is centred (without its mean over the features), like the encrypted residual stream. A
// range that the architecture does not have is 0.
#pragma once

#include <algorithm>
#include <vector>

#include "approx/interval.h"
#include "attention/shape/config.h"
#include "ckks/base/error.h"

namespace psm::attention {

struct LayerRanges {
  // Variance or mean square, + norm_epsilon: the input of 1/sqrt in N1 (and in N2 of a parallel block).
  approx::Interval variance;
  approx::Interval denominator;  // mean_i s_i^p + epsilon, all heads: the input of 1/x (PowerSoftmax models)
  double score = 0;              // max |s|
  double gelu_input = 0;         // max |argument of GELU or SiLU|
  approx::Interval second_variance{0, 0};  // as variance, in N2 of a sequential block

  bool operator==(const LayerRanges&) const = default;
};

struct Ranges {
  // For each of the d features, the largest |x_f| at the input of any block's norm: in kParallel x entering
  // the layer, in kPreNorm that and x + A, in kPostNorm both sums. For a classifier also at its head's norm.
  std::vector<double> residual;
  std::vector<LayerRanges> layers;
  approx::Interval
      final_variance;       // of the final norm, which the client of a language model computes exactly
  double pooler_input = 0;  // max |argument of the head's sigmoid|

  bool operator==(const Ranges&) const = default;
};

// Throws psm::Error if the ranges are not of a model of this shape, or if no feature of it ever differs from zero.
inline void check_shape(const Ranges& ranges, const ModelConfig& config) {
  if (ranges.layers.size() != static_cast<size_t>(config.layers) ||
      ranges.residual.size() != static_cast<size_t>(config.width))
    throw Error(message("ranges of ", ranges.layers.size(), " layers and width ", ranges.residual.size(),
                        " for a model of ", config.layers, " layers and width ", config.width,
                        "; measure them again"));
  if (!(*std::ranges::max_element(ranges.residual) > 0))
    throw Error("ranges of a model whose features are all zero; measure them again");
}

}  // namespace psm::attention
