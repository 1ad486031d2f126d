#include "attention/reference/range_use.h"

#include <map>
#include <mutex>
#include <utility>

#include "attention/trained/batched_model.h"

namespace psm::attention {
namespace {

// Counts `values` more, that lie in `seen`.
void add(RangeUse& use, approx::Interval seen, long long values, long long outside) {
  if (values == 0) return;
  use.seen = use.values == 0 ? seen : approx::hull(use.seen, seen);
  use.values += values;
  use.outside += outside;
}

// The functions of a model, and which of them a site is.
struct Functions {
  std::vector<RangeUse> uses;
  std::map<std::pair<Site, int>, size_t> index;

  // In the order of computation, without the norms that the client computes exactly.
  explicit Functions(const PolynomialModel& model) {
    const ModelConfig& config = model.weights.config;
    const bool post_norm = config.block == BlockKind::kPostNorm;
    for (int n = 0; n < config.layers; ++n) {
      const LayerRanges &ranges = model.ranges.layers[n], &measured = model.measured.layers[n];
      const auto norm = [&] {
        if (inverse_sqrt_at(model, Site::kVariance, n) != nullptr)
          append(Site::kVariance, n, "1/sqrt(variance)", ranges.variance, measured.variance);
      };
      const auto second_norm = [&] {
        append(Site::kSecondVariance, n, "1/sqrt(second variance)", ranges.second_variance,
               measured.second_variance);
      };
      if (!post_norm) norm();
      if (config.attention == AttentionKind::kPowerSoftmax)
        append(Site::kDenominator, n, "1/denominator", ranges.denominator, measured.denominator);
      else
        append(Site::kScores, n, "score", around_zero(ranges.score), around_zero(measured.score));
      if (post_norm) norm();
      if (config.block == BlockKind::kPreNorm) second_norm();
      append(Site::kGeluInput, n, config.feed_forward == FeedForwardKind::kSwiGlu ? "silu" : "gelu",
             around_zero(ranges.gelu_input), around_zero(measured.gelu_input));
      if (post_norm) second_norm();
    }
    if (model.final_inverse_sqrt)
      append(Site::kVariance, config.layers, "1/sqrt(variance)", model.ranges.final_variance,
             model.measured.final_variance);
    if (model.pooler)
      append(Site::kPoolerInput, config.layers, "sigmoid", around_zero(model.ranges.pooler_input),
             around_zero(model.measured.pooler_input));
  }

 private:
  static approx::Interval around_zero(double radius) { return {-radius, radius}; }
  void append(Site site, int layer, const char* function, approx::Interval interval,
              approx::Interval measured) {
    index[{site, layer}] = uses.size();
    uses.push_back({.layer = layer, .function = function, .interval = interval, .measured = measured});
  }
};

}  // namespace

std::vector<RangeUse> count_range_leaves(const PolynomialModel& model, const Examples& examples) {
  const Functions functions(model);
  std::vector<RangeUse> all = functions.uses;
  std::mutex mutex;
  const auto see = [&](std::vector<RangeUse>& uses, Site site, int layer, std::span<const double> values) {
    const auto found = functions.index.find({site, layer});
    if (found == functions.index.end()) return;
    RangeUse& use = uses[found->second];
    for (double value : values) add(use, {value, value}, 1, !use.interval.contains(value));
  };
  batched(model).run(
      examples, {.keep_scores = true, .logits = false, .progress = "counting values outside the intervals"},
      [&](const BatchedPart& part) {
        std::vector<RangeUse> uses = functions.uses;
        for (size_t i = 0; i < part.examples.size(); ++i)
          observe(model.weights.config, part, i,
                  [&](Site site, int layer, int, std::span<const double> values) {
                    see(uses, site, layer, values);
                  });
        const std::lock_guard lock(mutex);
        for (size_t u = 0; u < uses.size(); ++u) add(all[u], uses[u].seen, uses[u].values, uses[u].outside);
      });
  return all;
}

}  // namespace psm::attention
