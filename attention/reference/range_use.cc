#include "attention/reference/range_use.h"

#include "attention/batched/batched_model.h"

namespace psm::attention {
namespace {

// Counts `values` more, that lie in `seen`.
void add(RangeUse& use, approx::Interval seen, long long values, long long outside) {
  if (values == 0) return;
  use.seen = use.values == 0 ? seen : approx::hull(use.seen, seen);
  use.values += values;
  use.outside += outside;
}

}  // namespace

RangeUseCounter::RangeUseCounter(const PolynomialModel& model) : model_(model) {
  const ModelConfig& config = model.weights.config;
  const bool divides = config.attention == AttentionKind::kPowerSoftmax;
  const auto add = [&](Site site, int layer, const char* function, approx::Interval interval,
                       approx::Interval measured) {
    index_[{site, layer}] = uses_.size();
    uses_.push_back({.layer = layer, .function = function, .interval = interval, .measured = measured});
  };
  const auto around_zero = [](double radius) { return approx::Interval{-radius, radius}; };
  for (int n = 0; n < config.layers; ++n) {
    const LayerRanges &ranges = model.ranges.layers[n], &measured = model.measured.layers[n];
    add(Site::kVariance, n, "1/sqrt(variance)", ranges.variance, measured.variance);
    if (divides)
      add(Site::kDenominator, n, "1/denominator", ranges.denominator, measured.denominator);
    else
      add(Site::kScores, n, "score", around_zero(ranges.score), around_zero(measured.score));
    if (config.block != BlockKind::kParallel)
      add(Site::kSecondVariance, n, "1/sqrt(second variance)", ranges.second_variance,
          measured.second_variance);
    add(Site::kGeluInput, n, config.feed_forward == FeedForwardKind::kSwiGlu ? "silu" : "gelu",
        around_zero(ranges.gelu_input), around_zero(measured.gelu_input));
  }
  if (model.final_inverse_sqrt)
    add(Site::kVariance, config.layers, "1/sqrt(variance)", model.ranges.final_variance,
        model.measured.final_variance);
  if (model.pooler)
    add(Site::kPoolerInput, config.layers, "sigmoid", around_zero(model.ranges.pooler_input),
        around_zero(model.measured.pooler_input));
}

void RangeUseCounter::see(Site site, int layer, std::span<const double> values) {
  const auto found = index_.find({site, layer});
  if (found == index_.end()) return;
  const bool norm = site == Site::kVariance || site == Site::kSecondVariance;
  if (norm && inverse_sqrt_at(model_, site, layer) == nullptr) return;
  RangeUse& use = uses_[found->second];
  for (double value : values) psm::attention::add(use, {value, value}, 1, !use.interval.contains(value));
}

void RangeUseCounter::add(const RangeUseCounter& other) {
  for (size_t u = 0; u < uses_.size(); ++u)
    psm::attention::add(uses_[u], other.uses_[u].seen, other.uses_[u].values, other.uses_[u].outside);
}

std::vector<RangeUse> count_range_leaves(const PolynomialModel& model, const Examples& examples) {
  RangeUseCounter all(model);
  std::vector<RangeUseCounter> counters(examples.size(), all);
  BatchedModel(model.weights, polynomial_functions(model))
      .run(examples, {.keep_scores = true, .progress = "counting values outside the intervals"},
           [&](const BatchedPart& part) {
             for (size_t i = 0; i < part.examples.size(); ++i)
               observe(model.weights.config, part, i,
                       [&](Site site, int layer, int, std::span<const double> values) {
                         counters[part.examples[i]].see(site, layer, values);
                       });
           });
  for (const RangeUseCounter& one : counters) all.add(one);
  return all.uses();
}

}  // namespace psm::attention
