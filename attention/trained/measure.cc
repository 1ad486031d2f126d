#include "attention/trained/measure.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "attention/trained/batched_model.h"
#include "ckks/base/error.h"
#include "ckks/base/progress.h"

namespace psm::attention {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kNoLayer = std::numeric_limits<int>::max();

// What was seen of a model's values.
struct Seen {
  std::vector<double> residual;  // of each feature that norms read: the largest
  // The values of a site in a layer lie between these. Sites that the architecture does not have are missing.
  std::map<std::pair<Site, int>, approx::Interval> hulls = {};
  int broken_layer = kNoLayer;  // the first with a value that is not finite

  void add(Site site, int layer, const approx::Interval& values) {
    const auto [place, is_new] = hulls.try_emplace({site, layer}, values);
    if (!is_new) place->second = approx::hull(place->second, values);
  }

  void join(const Seen& more) {
    for (size_t f = 0; f < residual.size(); ++f) residual[f] = std::max(residual[f], more.residual[f]);
    for (const auto& [place, values] : more.hulls) add(place.first, place.second, values);
    broken_layer = std::min(broken_layer, more.broken_layer);
  }
};

// The values of a site (functions.h).
void see(const ModelConfig& config, Seen& seen, Site site, int layer, std::span<const double> values) {
  if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); }))
    seen.broken_layer = std::min(seen.broken_layer, layer);
  if (site != Site::kResidual && site != Site::kSum) {
    approx::Interval all{kInfinity, -kInfinity};
    for (const double value : values) all = approx::hull(all, {value, value});
    return seen.add(site, layer, all);
  }
  // What norms read, feature by feature.
  const bool behind = layer == config.layers;
  if (site == Site::kResidual && (config.block == BlockKind::kPostNorm || (behind && config.classes == 0)))
    return;
  const bool centred = config.norm == NormKind::kLayerNorm && !(behind && site == Site::kSum);
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = centred ? sum / static_cast<double>(values.size()) : 0;
  for (size_t f = 0; f < values.size(); ++f)
    seen.residual[f] = std::max(seen.residual[f], std::abs(values[f] - mean));
}

// Throws psm::Error if a value is not finite: no polynomial holds on it.
Ranges ranges_of(const ModelConfig& config, Seen seen) {
  if (seen.broken_layer != kNoLayer)
    throw Error(message(
        "measuring ranges: values ",
        seen.broken_layer == config.layers ? "after the last layer" : message("of layer ", seen.broken_layer),
        " are not finite; train the model further, or measure on other data"));
  const auto hull = [&](Site site, int layer) {
    const auto found = seen.hulls.find({site, layer});
    return found == seen.hulls.end() ? approx::Interval{0, 0} : found->second;
  };
  const auto largest = [&](Site site, int layer) {
    const approx::Interval values = hull(site, layer);
    return std::max({0.0, values.hi, -values.lo});  // 0.0 and not -0.0
  };
  Ranges ranges{.residual = std::move(seen.residual),
                .layers = {},
                .final_variance = hull(Site::kVariance, config.layers),
                .pooler_input = largest(Site::kPoolerInput, config.layers)};
  for (int n = 0; n < config.layers; ++n)
    ranges.layers.push_back({.variance = hull(Site::kVariance, n),
                             .denominator = hull(Site::kDenominator, n),
                             .score = largest(Site::kScores, n),
                             .gelu_input = largest(Site::kGeluInput, n),
                             .second_variance = hull(Site::kSecondVariance, n)});
  return ranges;
}

Seen nothing(const ModelConfig& config) { return {std::vector<double>(static_cast<size_t>(config.width))}; }

Seen measured(const ModelWeights& weights, const Examples& examples, const BatchedOptions& options) {
  if (examples.size() == 0) throw Error("no sequences to measure ranges on; give at least one");
  const ModelConfig& config = weights.config;
  Seen all = nothing(config);
  std::mutex mutex;
  BatchedModel(weights).run(examples, options, [&](const BatchedPart& part) {
    Seen seen = nothing(config);
    for (size_t i = 0; i < part.examples.size(); ++i)
      observe(config, part, i, [&](Site site, int layer, int, std::span<const double> values) {
        see(config, seen, site, layer, values);
      });
    const std::lock_guard lock(mutex);
    all.join(seen);
  });
  return all;
}

constexpr const char* kProgress = "measuring ranges";

}  // namespace

Ranges measure_ranges(const ModelWeights& weights, const Examples& examples) {
  return ranges_of(weights.config, measured(weights, examples,
                                            {.keep_scores = true, .logits = false, .progress = kProgress}));
}

Ranges measure_ranges(ModelWeights& weights, const LayerReader& read, const Examples& examples) {
  Seen all = nothing(weights.config);
  std::vector<std::vector<float>> states;
  Progress progress(kProgress, weights.config.layers);
  for (int n = 0; n < weights.config.layers; ++n) {
    LayerWeights norms = std::exchange(weights.layers[n], read(n));
    all.join(
        measured(weights, examples, {.keep_scores = true, .logits = false, .layer = n, .states = &states}));
    weights.layers[n] = std::move(norms);  // a copy would leave the memory in place
    progress.advance();
  }
  return ranges_of(weights.config, std::move(all));
}

}  // namespace psm::attention
