// For tests: what an approximation's certificate promises, and examples.
#pragma once

#include <vector>

#include "approx/approximation.h"
#include "approx/goldschmidt_sqrt.h"
#include "ckks/base/testing/check.h"

namespace psm::approx {

// 1/sqrt by each of its methods.
inline std::vector<Approximation> inverse_sqrt_examples() {
  std::vector<Approximation> all;
  for (const Interval domain : {Interval{1e-3, 8}, Interval{0.5, 0.6}, Interval{10, 1e5}}) {
    for (const int iterations : {1, 2, 4, 7, 12})
      for (const bool relaxed : {false, true})
        all.push_back(goldschmidt_inverse_sqrt(domain, iterations, relaxed));
    for (const int degree : {15, 31, 100})
      if (const auto series = series_inverse_sqrt(domain, degree)) all.push_back(*series);
  }
  return all;
}

// The certificate holds and, if it is above `rounding`, this much of it is attained.
inline void check_promises(const Approximation& approximation, double attained = 0.98,
                           double rounding = 1e-14, int count = 20001) {
  CAPTURE(approximation.name());
  const double worst = worst_error(approximation, count);
  CHECK(worst <= approximation.error_bound());
  if (approximation.error_bound() > rounding) CHECK(worst > attained * approximation.error_bound());
}

}  // namespace psm::approx
