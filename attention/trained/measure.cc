#include "attention/trained/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

#include "attention/trained/batched_model.h"
#include "ckks/base/error.h"
#include "ckks/base/progress.h"

namespace psm::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

void include(approx::Interval& interval, double value) { interval = approx::hull(interval, {value, value}); }

Ranges nothing(const ModelConfig& config) {
  Ranges ranges;
  ranges.residual.assign(static_cast<size_t>(config.width), 0.0);
  constexpr approx::Interval kNothing{kInfinity, -kInfinity};
  ranges.layers.assign(static_cast<size_t>(config.layers),
                       {.variance = kNothing, .denominator = kNothing, .second_variance = kNothing});
  ranges.final_variance = kNothing;
  return ranges;
}

// Intervals of what the architecture does not have.
void drop_unmeasured(Ranges& ranges) {
  const auto drop = [](approx::Interval& interval) {
    if (interval.lo > interval.hi) interval = {0, 0};
  };
  for (LayerRanges& layer : ranges.layers) {
    drop(layer.denominator);
    drop(layer.second_variance);
  }
  drop(ranges.final_variance);
}

double largest_of(std::span<const double> values) {
  double largest = 0;
  for (double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// What norms read, feature by feature.
void see_residual(bool centred, Ranges& seen, std::span<const double> x) {
  double sum = 0;
  for (double value : x) sum += value;
  const double mean = centred ? sum / static_cast<double>(x.size()) : 0;
  for (size_t f = 0; f < x.size(); ++f) seen.residual[f] = std::max(seen.residual[f], std::abs(x[f] - mean));
}

// The values of a site (functions.h).
void see(const ModelConfig& config, Ranges& seen, Site site, int layer, std::span<const double> values) {
  const bool behind = layer == config.layers, post_norm = config.block == BlockKind::kPostNorm;
  const bool centred = config.norm == NormKind::kLayerNorm;
  LayerRanges none, &at = behind ? none : seen.layers[layer];
  switch (site) {
    case Site::kResidual:
      if (!post_norm && (!behind || config.classes > 0)) see_residual(centred, seen, values);
      break;
    case Site::kSum:
      see_residual(centred && !behind, seen, values);
      break;
    case Site::kVariance:
      include(behind ? seen.final_variance : at.variance, values[0]);
      break;
    case Site::kScores:
      at.score = std::max(at.score, largest_of(values));
      break;
    case Site::kDenominator:
      include(at.denominator, values[0]);
      break;
    case Site::kGeluInput:
      at.gelu_input = std::max(at.gelu_input, largest_of(values));
      break;
    case Site::kSecondVariance:
      include(at.second_variance, values[0]);
      break;
    case Site::kPoolerInput:
      seen.pooler_input = std::max(seen.pooler_input, largest_of(values));
      break;
  }
}

Ranges measured(const ModelWeights& weights, const Examples& examples, const BatchedOptions& options) {
  if (examples.size() == 0) throw Error("no sequences to measure ranges on; give at least one");
  const ModelConfig& config = weights.config;
  Ranges all = nothing(config);
  std::mutex mutex;
  BatchedModel(weights).run(examples, options, [&](const BatchedPart& part) {
    Ranges seen = nothing(config);
    for (size_t i = 0; i < part.examples.size(); ++i)
      observe(config, part, i, [&](Site site, int layer, int, std::span<const double> values) {
        see(config, seen, site, layer, values);
      });
    const std::lock_guard lock(mutex);
    all = join(all, seen);
  });
  return all;
}

constexpr const char* kProgress = "measuring ranges";

}  // namespace

Ranges measure_ranges(const ModelWeights& weights, const Examples& examples) {
  Ranges all = measured(weights, examples, {.keep_scores = true, .progress = kProgress});
  drop_unmeasured(all);
  return all;
}

Ranges measure_ranges(ModelWeights& weights, const LayerReader& read, const Examples& examples) {
  Ranges all = nothing(weights.config);
  std::vector<std::vector<float>> states;
  Progress progress(kProgress, weights.config.layers);
  for (int n = 0; n < weights.config.layers; ++n) {
    LayerWeights norms = std::exchange(weights.layers[n], read(n));
    all = join(all, measured(weights, examples, {.keep_scores = true, .layer = n, .states = &states}));
    weights.layers[n] = std::move(norms);  // a copy would leave the memory in place
    progress.advance();
  }
  drop_unmeasured(all);
  return all;
}

}  // namespace psm::attention
