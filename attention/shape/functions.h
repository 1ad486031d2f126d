// The values of a model whose range matters, which a forward pass shows, and the non-polynomial functions,
// which can be replaced. The reference and the trained model use both in the same way.
#pragma once

#include <functional>
#include <span>

namespace psm::attention {

// `layer` counts from 0. Values after the last layer have layer == config.layers.
enum class Site {
  kResidual,     // x entering the layer (or the final norm): d values
  kSum,          // x plus a branch, where a sequential block's norm reads it: x + A in kPreNorm, both sums in
                 // kPostNorm; layer == config.layers: the mean of a sequence's tokens: d values
  kVariance,     // variance, or mean square, + norm_epsilon: the input of 1/sqrt in N1, which in a parallel
                 // block is N2's too, and in the final norm: 1 value
  kScores,       // one head's scores of row t: L values
  kDenominator,  // mean_i s_i^p + epsilon, the input of 1/x (PowerSoftmax models only): 1 value a head
  kGeluInput,    // the argument of GELU, or of SiLU in SwiGLU: ffn values
  kSecondVariance,  // as kVariance, of N2 in the sequential blocks
  kPoolerInput,     // the argument of the head's sigmoid, layer == config.layers: d values
};

// The values of a site, and the position t of their token.
using Observe = std::function<void(Site site, int layer, int position, std::span<const double> values)>;

// Functions that replace the exact ones. Each is called once for all its values and works in place. Empty
// means exact.
struct ReplacedFunctions {
  // For all norms except the one before the first block (kPostNorm).
  std::function<double(Site site, int layer, double variance)> inverse_square_root;
  std::function<void(int layer, std::span<double> row)> row_weights;  // from scores
  std::function<void(int layer, std::span<double> inputs)> gelu;      // or SiLU
  std::function<void(std::span<double> inputs)> pooler;               // the sigmoid of the head
};

}  // namespace psm::attention
