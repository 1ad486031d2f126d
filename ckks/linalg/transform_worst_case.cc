#include "ckks/linalg/transform_worst_case.h"

#include <algorithm>
#include <cmath>

namespace psm::ckks {

std::vector<SlotBound> worst_case_transform(const WorstCaseModel& model, const LinearTransform& transform,
                                            const TransformSchedule& schedule, Level level, Scale input_scale,
                                            Scale output_scale, std::span<const SlotBound> inputs) {
  const Scale sum_scale = before_rescale(output_scale, model.context().q(level));
  const double encoding = model.encoding(Scale(sum_scale / input_scale));
  const double baby = model.key_switch(level, input_scale), giant = model.key_switch(level, sum_scale);
  std::vector<SlotBound> out;
  for (int o = 0; o < transform.outputs; ++o) {
    size_t period = 1;
    for (const TransformTerm& term : transform.terms) {
      if (term.output == o) period = std::max(period, term.weight.period());
    }
    std::vector<double> sizes(period, 0), errors(period, 0);
    for (const TransformTerm& term : transform.terms) {
      if (term.output != o) continue;
      const SlotBound& x = inputs[term.input];
      const double error = x.error + (term.baby != 0 || term.conjugate ? baby : 0);
      for (size_t s = 0; s < period; ++s) {
        const double weight = std::abs(term.weight.at(s + static_cast<size_t>(term.giant)));
        sizes[s] += weight * x.size;
        errors[s] += (weight + encoding) * error + encoding * x.size;
      }
    }
    const auto giants = std::count_if(
        schedule.steps.begin(), schedule.steps.end(),
        [&](const TransformSchedule::GiantStep& step) { return schedule.accumulators[step.to].output == o; });
    out.push_back({*std::max_element(sizes.begin(), sizes.end()),
                   *std::max_element(errors.begin(), errors.end()) + static_cast<double>(giants) * giant +
                       model.rescale(output_scale)});
  }
  return out;
}

}  // namespace psm::ckks
