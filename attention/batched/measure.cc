#include "attention/batched/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attention/batched/batched_model.h"
#include "ckks/base/error.h"

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

}  // namespace

RangeMeter::RangeMeter(const ModelConfig& config)
    : centred_(config.norm == NormKind::kLayerNorm),
      post_norm_(config.block == BlockKind::kPostNorm),
      classifies_(config.classes > 0),
      seen_(nothing(config)) {}

void RangeMeter::see_residual(std::span<const double> x) {
  double sum = 0;
  for (double value : x) sum += value;
  const double mean = centred_ ? sum / static_cast<double>(x.size()) : 0;
  for (size_t f = 0; f < x.size(); ++f)
    seen_.residual[f] = std::max(seen_.residual[f], std::abs(x[f] - mean));
}

void RangeMeter::see(Site site, int layer, std::span<const double> values) {
  const bool behind = static_cast<size_t>(layer) == seen_.layers.size();
  if (behind) {
    if (site == Site::kResidual && classifies_ && !post_norm_) see_residual(values);
    if (site == Site::kVariance) include(seen_.final_variance, values[0]);
    if (site == Site::kPoolerInput) seen_.pooler_input = std::max(seen_.pooler_input, largest_of(values));
    return;
  }
  LayerRanges& at = seen_.layers[layer];
  switch (site) {
    case Site::kResidual:
      if (!post_norm_) see_residual(values);
      break;
    case Site::kSum:
      see_residual(values);
      break;
    case Site::kVariance:
      include(at.variance, values[0]);
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
    case Site::kPoolerInput:  // behind the layers
      break;
  }
}

Ranges RangeMeter::ranges() const {
  Ranges ranges = seen_;
  drop_unmeasured(ranges);
  return ranges;
}

Ranges measure_ranges(const ModelWeights& weights, const Examples& examples) {
  if (examples.size() == 0) throw Error("no sequences to measure ranges on; give at least one");
  const ModelConfig& config = weights.config;
  std::vector<RangeMeter> meters(examples.size(), RangeMeter(config));
  BatchedModel(weights).run(
      examples, {.keep_scores = true, .progress = "measuring ranges"}, [&](const BatchedPart& part) {
        for (size_t i = 0; i < part.examples.size(); ++i)
          observe(config, part, i, [&](Site site, int layer, int, std::span<const double> values) {
            meters[part.examples[i]].see(site, layer, values);
          });
      });
  Ranges all = meters[0].ranges();
  for (const RangeMeter& meter : meters) all = join(all, meter.ranges());
  return all;
}

}  // namespace psm::attention
