#include "attention/shape/ranges.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::attention {

Ranges join(const Ranges& a, const Ranges& b) {
  PSM_CHECK(a.residual.size() == b.residual.size() && a.layers.size() == b.layers.size(), "ranges of ",
            a.layers.size(), " and ", b.layers.size(), " layers");
  Ranges joined = a;
  for (size_t f = 0; f < a.residual.size(); ++f) joined.residual[f] = std::max(a.residual[f], b.residual[f]);
  for (size_t n = 0; n < a.layers.size(); ++n) {
    const LayerRanges &x = a.layers[n], &y = b.layers[n];
    joined.layers[n] = {.variance = approx::hull(x.variance, y.variance),
                        .denominator = approx::hull(x.denominator, y.denominator),
                        .score = std::max(x.score, y.score),
                        .gelu_input = std::max(x.gelu_input, y.gelu_input),
                        .second_variance = approx::hull(x.second_variance, y.second_variance)};
  }
  joined.final_variance = approx::hull(a.final_variance, b.final_variance);
  joined.pooler_input = std::max(a.pooler_input, b.pooler_input);
  return joined;
}

void check_shape(const Ranges& ranges, const ModelConfig& config) {
  if (ranges.layers.size() != static_cast<size_t>(config.layers) ||
      ranges.residual.size() != static_cast<size_t>(config.width))
    throw Error(message("ranges of ", ranges.layers.size(), " layers and width ", ranges.residual.size(),
                        " for a model of ", config.layers, " layers and width ", config.width,
                        "; measure them again"));
}

}  // namespace psm::attention
