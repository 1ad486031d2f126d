// How often the values of a polynomial model leave its intervals, over many examples
// (attention/trained/batched_model.h). The result does not depend on the number of threads.
#pragma once

#include <string>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "attention/shape/examples.h"

namespace psm::attention {

// Counts for one layer and function. Entries follow the computation, so the first with a value outside names the layer
// that causes the rest. A norm that the client computes exactly has no entry.
struct RangeUse {
  int layer = 0;         // the number of layers: the head
  std::string function;  // "1/sqrt(variance)", "1/sqrt(second variance)", "1/denominator" or "score" (all but
                         // PowerSoftmax), "gelu" or "silu", "sigmoid"
  approx::Interval interval;
  approx::Interval measured{};  // what the interval was widened from
  approx::Interval seen{};
  long long values = 0, outside = 0;
};

// Shows a progress bar. Throws psm::Error on an example that the model cannot read.
std::vector<RangeUse> count_range_leaves(const PolynomialModel& model, const Examples& examples);

}  // namespace psm::attention
