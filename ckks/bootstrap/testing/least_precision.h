// Bounds for a bootstrap's measured precision, for tests under fresh keys.
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <vector>

#include "ckks/base/testing/chance.h"
#include "ckks/bootstrap/error_model.h"

namespace psm::ckks {

namespace law_internal {

inline double mean(const ErrorTerm& term) {  // E |d + g|
  const double d = std::abs(term.d), width = term.deviation / std::sqrt(2.0);
  return d + width * std::exp(-d / width);
}

inline double beyond(const ErrorTerm& term, double w) {  // P(|d + g| > w)
  const double d = std::abs(term.d), width = term.deviation / std::sqrt(2.0),
               other = std::exp(-(w + d) / width);
  return w > d ? (std::exp(-(w - d) / width) + other) / 2 : 1 - (std::exp(-(d - w) / width) - other) / 2;
}

template <typename Function>
double expectation(const std::vector<ErrorTerm>& law, Function&& of) {
  double sum = 0;
  for (const ErrorTerm& term : law) sum += term.probability * of(term);
  return sum;
}

}  // namespace law_internal

// The bits that a bootstrap keeps over `slots` slots if its errors have this law. They are fewer than `least`
// in one of a million runs, and more than `most` in one of a million. A component is re or im of a slot, |e|
// = |d + g| <= |d| + |g|.
//   least.worst   the union bound over all components, with a proven tail (laplace_tail)
//   least.mean    Chernoff: P(mean |e| > w) <= (E e^{t |e|} / e^{t w})^n, E e^{t |e|} <= e^{t |d|} / (1 - t deviation /
//                 sqrt 2). Errors of n = `independent` slots are independent, others repeat them. Multiples of q_0 that
//                 occur once in two million bootstraps are left out here; `worst` counts them.
//   most.mean     e^{-x} <= 1 - x + x^2 / 2: P(mean |e| < E |e| - w) <= exp(-n w^2 / (2 E e^2))
//   most.worst    P(all |e| <= w) <= exp(-n P(|e| > w))
struct PrecisionRange {
  Precision least, most;
};

inline PrecisionRange precision_range(std::vector<ErrorTerm> law, size_t independent, size_t slots) {
  using law_internal::expectation, chance_internal::root;
  const auto n = static_cast<double>(independent), components = 2 * static_cast<double>(slots);
  const double exponent = -std::log(kChance), largest = 1;  // an error of 1 is no precision
  PrecisionRange range{};
  range.least.worst = -std::log2(root(0, largest, [&](double w) {
    return kChance - components * expectation(law, [&](const ErrorTerm& term) {
                       return laplace_tail((w - std::abs(term.d)) / term.deviation);
                     });
  }));
  range.most.worst = -std::log2(root(0, largest, [&](double w) {
    return exponent -
           n * expectation(law, [&](const ErrorTerm& term) { return law_internal::beyond(term, w); });
  }));
  const double mean = expectation(law, [](const ErrorTerm& term) { return law_internal::mean(term); });
  const double square = expectation(
      law, [](const ErrorTerm& term) { return term.d * term.d + term.deviation * term.deviation; });
  range.most.mean = -std::log2(std::max(0.0, mean - std::sqrt(2 * exponent * square / n)));

  std::ranges::sort(law, std::greater(), &ErrorTerm::probability);
  for (double rare = 0; (rare += components * law.back().probability) <= kChance / 2;) law.pop_back();
  double width = 0, least = largest;
  for (const ErrorTerm& term : law) width = std::max(width, term.deviation / std::sqrt(2.0));
  for (double t = 0.002 / width; t < 1 / width; t += 0.002 / width) {
    const double e = expectation(law, [&](const ErrorTerm& term) {
      return std::exp(t * std::abs(term.d)) / (1 - t * term.deviation / std::sqrt(2.0));
    });
    least = std::min(least, (std::log(e) + std::log(2 / kChance) / n) / t);
  }
  range.least.mean = -std::log2(least);
  return range;
}

// The least of values in [-1, 1] + i [-1, 1]: |d| is largest at the four points where T_3 is 1 or -1 (eval_mod.h).
inline Precision least_precision(const BootstrapPlan& plan, size_t independent, size_t slots) {
  Precision least{INFINITY, INFINITY};
  for (const double z : {-1.0, -0.5, 0.5, 1.0}) {
    const Precision p = precision_range(error_law(plan, {{z}}), independent, slots).least;
    least = {std::min(least.mean, p.mean), std::min(least.worst, p.worst)};
  }
  return least;
}

// Whether the number of slots whose real part is off by more than the law's p-quantile is one that chance
// allows.
inline bool has_tail(const std::vector<ErrorTerm>& law, double p,
                     const std::vector<std::complex<double>>& computed,
                     const std::vector<std::complex<double>>& expected) {
  const double w = chance_internal::root(0, 1, [&](double x) {
    return p - law_internal::expectation(
                   law, [&](const ErrorTerm& term) { return law_internal::beyond(term, x); });
  });
  double count = 0;
  for (size_t s = 0; s < expected.size(); ++s) count += std::abs((computed[s] - expected[s]).real()) > w;
  return successes(expected.size(), p).holds(count);
}

}  // namespace psm::ckks
