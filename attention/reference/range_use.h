// How often the values of a polynomial model leave its intervals, over many examples (attention/batched). The
// result does not depend on the number of threads.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/shape/examples.h"

namespace psm::attention {

// Counts for one layer and function. The first entry with a count above 0 names the layer that causes the
// rest.
struct RangeUse {
  int layer = 0;         // the number of layers: the head
  std::string function;  // "1/sqrt(variance)", "1/sqrt(second variance)", "1/denominator" or "score" (all but
                         // PowerSoftmax), "gelu" or "silu", "sigmoid"
  approx::Interval interval;
  approx::Interval measured{};  // what the interval was widened from
  approx::Interval seen{};
  long long values = 0, outside = 0;
};

// Counts values that a forward pass of the polynomial model shows (functions.h). The model must outlive it.
class RangeUseCounter {
 public:
  explicit RangeUseCounter(const PolynomialModel& model);
  void see(Site site, int layer, std::span<const double> values);
  // Adds the counts of another counter of the same model.
  void add(const RangeUseCounter& other);
  const std::vector<RangeUse>& uses() const { return uses_; }

 private:
  const PolynomialModel& model_;
  std::vector<RangeUse> uses_;
  std::map<std::pair<Site, int>, size_t> index_;  // which of them a site is
};

// Shows a progress bar. Throws psm::Error on an example that the model cannot read.
std::vector<RangeUse> count_range_leaves(const PolynomialModel& model, const Examples& examples);

}  // namespace psm::attention
