// Every model of config.h written for clarity: one sequence, double precision, plain loops in the order of
// the equations in config.h. What the trained, the polynomial and the encrypted models are compared with.
//
// A hook sees every value whose range matters (training measures ranges with it), and every non-polynomial
// function can be replaced (by its polynomial), which turns the reference into the plaintext polynomial
// model.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attention/shape/weights.h"

namespace psm {

// What a hook is shown. `layer` counts from 0; the final norm is layer == config.layers.
enum class Site {
  kResidual,     // x entering the layer (or the final norm): d values
  kVariance,     // variance, or mean square, + norm_epsilon: the input of 1/sqrt in N1, which in a parallel
                 // block is N2's too, and in the final norm: 1 value
  kScores,       // one head's scores of row t: L values
  kDenominator,  // mean_i s_i^p + epsilon, the input of 1/x (PowerSoftmax models only): 1 value a head
  kGeluInput,    // the argument of GELU, or of SiLU in SwiGLU: ffn values
  kSecondVariance,  // as kVariance, of N2 in the sequential blocks
  kPoolerInput,     // the argument of the head's sigmoid, layer == config.layers: d values
};

struct ReferenceHooks {
  // Called with the position t of the token; may be empty.
  std::function<void(Site site, int layer, int position, std::span<const double> values)> observe;
  // Replacements of the exact functions; empty means exact.
  // Of all norms but the one before the first block (kPostNorm).
  std::function<double(Site site, int layer, double variance)> inverse_square_root;
  std::function<void(int layer, std::span<double> row)> row_weights;  // from scores, in place
  std::function<double(int layer, double input)> gelu;                // or SiLU
  std::function<double(double input)> pooler;                         // the sigmoid of the head
};

struct ForwardResult {
  int tokens = 0;
  std::vector<double> hidden;  // [tokens][d], after the last layer, before the final norm
  std::vector<double> logits;  // [tokens][vocab], or [classes]
};

// Runs the model in config.form. Throws psm::Error if there are no tokens, more than config.context, or one
// that is not in the vocabulary. Thread-safe as far as the hooks are.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReferenceHooks& hooks = {});
// The same for a model of patches: those of one image, patch by patch. Throws psm::Error if they are not
// whole patches, none or more than config.context - 1, or hold a number that is not finite.
ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReferenceHooks& hooks = {});

}  // namespace psm
