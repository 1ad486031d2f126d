#include "approx/approximation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "ckks/base/error.h"

namespace psm {

Approximation::Approximation(Facts facts, Cost cost, std::shared_ptr<const Kernel> kernel)
    : facts_(std::move(facts)), cost_(cost), kernel_(std::move(kernel)) {
  PSM_CHECK(facts_.error_bound >= 0 && std::isfinite(facts_.error_bound), facts_.function, " ",
            facts_.error_bound);
  PSM_CHECK(facts_.domain.lo < facts_.domain.hi, facts_.domain.lo, " ", facts_.domain.hi);
}

double Approximation::error_at(double x) const {
  const double f = exact(x);
  const double difference = std::fabs(evaluate(x) - f);
  return facts_.error_kind == ErrorKind::kRelative ? difference / std::fabs(f) : difference;
}

program::Value Approximation::build(program::Builder& builder, program::Value v, const std::string& what,
                                    program::Plain where) const {
  const program::Builder::Scope scope(builder, facts_.function);
  if (!what.empty())
    builder.check_range(v, facts_.input_range.lo, facts_.input_range.hi, what, std::move(where));
  return kernel_->build(builder, v);
}

// With b = 2^m baby steps T_1 .. T_b (b - 1 products), giant steps by doubling T_2b, T_4b, ... and one
// product for each giant coefficient block but the lowest; the best m.
int series_multiplications(int degree) {
  PSM_CHECK(degree >= 0, "degree ", degree);
  if (degree <= 1) return 0;
  int best = std::numeric_limits<int>::max();
  for (int babies = 2; babies / 2 <= degree; babies *= 2) {
    const int blocks = degree / babies + 1;
    int doublings = 0;
    while ((babies << (doublings + 1)) <= degree) ++doublings;
    best = std::min(best, babies - 1 + doublings + blocks - 1);
  }
  return best;
}

}  // namespace psm
