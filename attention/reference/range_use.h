// How often the values of a polynomial model leave its intervals, over many examples (attention/batched). The
// same result for any number of threads.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/shape/examples.h"

namespace psm::attention {

// For each layer and function, over the values seen. The first line that counts anything says which layer to blame.
struct RangeUse {
  int layer = 0;         // the number of layers: the head
  std::string function;  // "1/sqrt(variance)", "1/sqrt(second variance)", "1/denominator" or "score" (all but
                         // PowerSoftmax), "gelu" or "silu", "sigmoid"
  approx::Interval interval;
  approx::Interval measured{};  // what the interval was widened from
  approx::Interval seen{};
  long long values = 0, outside = 0;
};

// Counts what a forward pass of the polynomial model shows (functions.h); the model outlives it.
class RangeUseCounter {
 public:
  explicit RangeUseCounter(const PolynomialModel& model);
  void see(Site site, int layer, std::span<const double> values);
  // Counts what another of the same model has counted.
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
