// Bounds for tests of fresh randomness: how far chance alone carries a statistic. A check against one of these bounds
// fails by chance with probability kChance at most. All follow from Chernoff's bound, P(X >= a) <= E e^{t X} / e^{t a},
// or from the union bound P(any) <= sum of P. Figures are in units of the law's standard deviation.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace psm {

inline constexpr double kChance = 1e-6;

struct ChanceRange {
  double low, high;
  bool holds(double x) const { return low <= x && x <= high; }
};

namespace chance_internal {

// Where an increasing function on [low, high] changes its sign. Returns exactly low if it is not negative there.
template <typename Function>
double root(double low, double high, Function&& f) {
  for (int step = 0; step < 200; ++step) {
    const double middle = (low + high) / 2;
    (f(middle) < 0 ? low : high) = middle;
  }
  return low;
}

// The mean of `shape` exponential variables of mean 1: P(beyond x) <= (x e^{1-x})^shape, on either side of 1.
inline ChanceRange gamma_mean(double shape, double chance) {
  const double exponent = -std::log(chance) / shape;
  const auto distance = [&](double x) { return x - 1 - std::log(x) - exponent; };
  return {root(0, 1, [&](double x) { return -distance(x); }), root(1, 4 * exponent + 4, distance)};
}

}  // namespace chance_internal

// The largest of n absolute values, normal or of lighter tails: n P(|z| > a) = kChance.
inline double largest_normal(size_t n) {
  return chance_internal::root(
      0, 40, [&](double a) { return kChance - static_cast<double>(n) * std::erfc(a / std::sqrt(2.0)); });
}

// The mean of n squares of independent normal variables: n of them are n/2 exponential ones.
inline ChanceRange mean_square(size_t n) {
  return chance_internal::gamma_mean(static_cast<double>(n) / 2, kChance / 2);
}

// Errors of slots often follow Laplace's law. A rounding error is a product of two values at the slot's root
// of unity: that of the rounded part and that of the secret. Both are complex normal, so each part of their
// product is Laplace: P(|x| > a) = e^{-sqrt(2) a}, the absolute value is exponential.
inline double largest_laplace(size_t n) {
  return std::log(static_cast<double>(n) / kChance) / std::sqrt(2.0);
}

// And a bound on the tail that needs no limit theorem: P(|x| > a) <= laplace_tail(a).
//   - A secret of weight h is at zeta a sum of h powers of zeta with signs, each uniform among the 2N roots. If they are
//     independent, E |s(zeta)|^{2k} is a sum of squared multinomials, at most k! h^k. Without repetition no moment is
//     larger (Hoeffding 1963, theorem 4). A dense secret's entries are strictly subgaussian, with the same result:
//     E e^{v |s(zeta)|^2 / h} <= 1 / (1 - v).
//   - Given the secret, x is a sum of independent parts, uniform or Gaussian, with E e^{t x} <= e^{t^2 V / 2}. Its
//     variance is V = 1 - b + b |s(zeta)|^2 / h: one part is fixed, one follows the secret.
//   - Together E e^{t x} <= e^{(1 - b) t^2 / 2} / (1 - b t^2 / 2) <= 1 / (1 - t^2 / 2).
//   - The best t of Chernoff's bound solves a = t / (1 - t^2 / 2).
inline double laplace_tail(double a) {
  if (a <= 0) return 1;
  const double t = (std::sqrt(1 + 2 * a * a) - 1) / a;
  return std::min(1.0, 2 * std::exp(-a * t) / (1 - t * t / 2));
}

// So a tolerance of forty deviations needs no arithmetic: the probability that chance exceeds it in one of
// 2^32 values is 2^32 laplace_tail(40) < 1e-13. Tests of whole programs are of this kind: they allow 2^-7 of
// the logits, or 2^-6, and 2^-18 at most is predicted.

// The largest of n, if the deviation was estimated from one draw of n such errors, which chance may make small.
inline double largest_after_draw(size_t n) { return largest_laplace(2 * n) / std::sqrt(mean_square(n).low); }

// Successes among n independent trials of probability p: P(beyond n x) <= exp(-n D(x || p)), on either side
// of p, with D the relative entropy. If a test makes `checks` such checks, chance makes any of them fail with probability
// kChance at most.
inline ChanceRange successes(size_t n, double p, size_t checks = 1) {
  const double exponent = -std::log(kChance / 2 / static_cast<double>(checks)) / static_cast<double>(n);
  const auto distance = [&](double x) {
    const auto term = [](double a, double b) { return a > 0 ? a * std::log(a / b) : 0; };
    return term(x, p) + term(1 - x, 1 - p) - exponent;
  };
  const auto trials = static_cast<double>(n);
  return {trials * chance_internal::root(0, p, [&](double x) { return -distance(x); }),
          trials * chance_internal::root(p, 1, distance)};
}

}  // namespace psm
