#include "attention/batched/measure.h"

#include "attention/batched/batched_model.h"
#include "ckks/base/error.h"

namespace psm::attention {

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
