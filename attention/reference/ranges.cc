#include "attention/reference/ranges.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/reference/reference_forward.h"
#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/progress.h"

namespace psm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void include(Interval& interval, double value) { interval = hull(interval, {value, value}); }

Ranges nothing(const ModelConfig& config) {
  Ranges ranges;
  ranges.residual.assign(static_cast<size_t>(config.width), 0.0);
  constexpr Interval kNothing{kInfinity, -kInfinity};
  ranges.layers.assign(static_cast<size_t>(config.layers),
                       {.variance = kNothing, .denominator = kNothing, .second_variance = kNothing});
  ranges.final_variance = kNothing;
  return ranges;
}

// Intervals of what the architecture does not have.
void drop_unmeasured(Ranges& ranges) {
  const auto drop = [](Interval& interval) {
    if (interval.lo > interval.hi) interval = {0, 0};
  };
  for (LayerRanges& layer : ranges.layers) {
    drop(layer.denominator);
    drop(layer.second_variance);
  }
  drop(ranges.final_variance);
}

// Over sequences of tokens or over patches.
template <typename Example>
Ranges measure(const ModelWeights& weights, std::span<const Example> sequences) {
  if (sequences.empty()) throw Error("no sequences to measure ranges on; give at least one");
  const int layers = weights.config.layers;
  std::vector<Ranges> measured(sequences.size(), nothing(weights.config));
  Progress progress("measuring ranges", static_cast<double>(sequences.size()));
  parallel_for(0, sequences.size(), [&](size_t i) {
    Ranges& ranges = measured[i];
    ReferenceHooks hooks;
    hooks.observe = [&](Site site, int layer, int, std::span<const double> values) {
      double largest = 0, mean = 0;
      for (double value : values) {
        largest = std::max(largest, std::abs(value));
        mean += value / static_cast<double>(values.size());
      }
      if (layer == layers) {
        if (site == Site::kVariance) include(ranges.final_variance, values[0]);
        if (site == Site::kPoolerInput) ranges.pooler_input = std::max(ranges.pooler_input, largest);
        return;
      }
      LayerRanges& at = ranges.layers[static_cast<size_t>(layer)];
      switch (site) {
        case Site::kResidual:
          for (size_t f = 0; f < values.size(); ++f)
            ranges.residual[f] = std::max(ranges.residual[f], std::abs(values[f] - mean));
          break;
        case Site::kVariance:
          include(at.variance, values[0]);
          break;
        case Site::kScores:
          at.score = std::max(at.score, largest);
          break;
        case Site::kDenominator:
          include(at.denominator, values[0]);
          break;
        case Site::kGeluInput:
          at.gelu_input = std::max(at.gelu_input, largest);
          break;
        case Site::kSecondVariance:
          include(at.second_variance, values[0]);
          break;
        case Site::kPoolerInput:  // after the layers
          break;
      }
    };
    reference_forward(weights, std::span(sequences[i]), hooks);
    progress.advance();
  });
  Ranges all = measured[0];
  for (size_t i = 1; i < measured.size(); ++i) all = join(all, measured[i]);
  drop_unmeasured(all);
  return all;
}

}  // namespace

Ranges measure_ranges(const ModelWeights& weights, std::span<const std::vector<int>> sequences) {
  return measure(weights, sequences);
}
Ranges measure_ranges(const ModelWeights& weights, std::span<const std::vector<float>> images) {
  return measure(weights, images);
}

Ranges join(const Ranges& a, const Ranges& b) {
  PSM_CHECK(a.residual.size() == b.residual.size() && a.layers.size() == b.layers.size(), "ranges of ",
            a.layers.size(), " and ", b.layers.size(), " layers");
  Ranges joined = a;
  for (size_t f = 0; f < a.residual.size(); ++f) joined.residual[f] = std::max(a.residual[f], b.residual[f]);
  for (size_t n = 0; n < a.layers.size(); ++n) {
    const LayerRanges &x = a.layers[n], &y = b.layers[n];
    joined.layers[n] = {.variance = hull(x.variance, y.variance),
                        .denominator = hull(x.denominator, y.denominator),
                        .score = std::max(x.score, y.score),
                        .gelu_input = std::max(x.gelu_input, y.gelu_input),
                        .second_variance = hull(x.second_variance, y.second_variance)};
  }
  joined.final_variance = hull(a.final_variance, b.final_variance);
  joined.pooler_input = std::max(a.pooler_input, b.pooler_input);
  return joined;
}

}  // namespace psm
