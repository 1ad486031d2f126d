#include "approx/absolute_value.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "ckks/base/error.h"

namespace psm::approx {
namespace {

constexpr int kMaxAbsIterations = 20;
constexpr int kCells = 4096;

struct Cubic {
  long double alpha, beta;
  long double operator()(long double s) const { return s * (alpha - beta * s * s); }
};

struct SignIteration {
  std::vector<Cubic> steps;
  long double last_e = 0;  // e_K

  long double final_factor() const { return 2 / (1 + last_e); }
  long double sign(long double v) const {
    for (const Cubic& step : steps) v = step(v);
    return final_factor() * v;
  }
};

SignIteration iterate(long double e, int iterations) {
  SignIteration result;
  for (int i = 0; i < iterations; ++i) {
    const long double alpha = std::sqrt(27 / (4 * (1 + e + e * e)));
    result.steps.push_back({alpha, 4 * alpha * alpha * alpha / 27});
    e = result.steps.back()(e);
  }
  result.last_e = e;
  return result;
}

long double error_above(const SignIteration& it) { return (1 - it.last_e) / (1 + it.last_e); }

long double error_below(const SignIteration& it, long double e) {
  long double worst = 0;
  for (int j = 0; j < kCells; ++j)
    worst = std::max(worst, e * (j + 1) / kCells * (1 - it.sign(e * j / kCells)));
  return worst;
}

// The e_0 at which the bounds above and below it meet.
long double balance(int iterations) {
  long double low = 1e-12L, high = 1;
  for (int step = 0; step < 60; ++step) {
    const long double e = std::sqrt(low * high);
    const SignIteration it = iterate(e, iterations);
    (error_below(it, e) < error_above(it) ? low : high) = e;
  }
  return high;
}

// mu_0 |v| of X_0 = mu_0 v, by A_i and m_i.
Steps absolute_steps(const std::vector<double>& a, const std::vector<int>& multiple) {
  Steps s;
  Steps::Value x = Steps::kArgument;
  for (size_t i = 0; i < a.size(); ++i) {
    if (i > 0) x = s.refresh(x);
    const Steps::Value factor = s.add_constant(s.negate(s.multiply(x, x)), a[i]);
    const Steps::Value left = i + 1 == a.size() ? s.multiply(Steps::kArgument, x) : x;
    x = s.times_integer(s.multiply(left, factor), multiple[i]);
  }
  return s;
}

}  // namespace

Approximation absolute_value(double radius, int iterations) {
  check_radius(radius, "abs");
  PSM_CHECK(1 <= iterations && iterations <= kMaxAbsIterations, "iterations ", iterations);
  const long double e = balance(iterations);
  const SignIteration it = iterate(e, iterations);

  std::vector<double> a(iterations);
  std::vector<int> multiple(iterations);
  long double mu = it.final_factor();
  for (int i = iterations - 1; i >= 0; --i) {
    const Cubic& step = it.steps[i];
    const long double cube = mu * step.beta;
    multiple[i] = std::max(1, static_cast<int>(std::ceil(cube)));
    mu = std::cbrt(cube / multiple[i]);
    a[i] = static_cast<double>(mu * mu * step.alpha / step.beta);
  }

  Approximation::Facts facts;
  facts.function = "|x|";
  facts.method = message("relaxed cubic sign, ", iterations, iterations == 1 ? " iteration" : " iterations");
  facts.certificate = message("closed form for |x| >= ", static_cast<double>(e * radius),
                              ", below it by monotonicity on a grid");
  facts.domain = {-radius, radius};
  facts.error_kind = ErrorKind::kAbsolute;
  facts.error_bound =
      static_cast<double>(radius * (std::max(error_above(it), error_below(it, e)) + iterations * 0x1p-48L));
  facts.input_scale = static_cast<double>(mu / radius);
  facts.input_range = {static_cast<double>(-mu), static_cast<double>(mu)};
  facts.output_scale = static_cast<double>(radius / mu);
  return Approximation(std::move(facts), absolute_steps(a, multiple), [](double x) { return std::fabs(x); });
}

Approximation design_absolute_value(double radius, double absolute_error) {
  check_radius(radius, "abs");
  if (!(absolute_error > 0 && absolute_error < radius))
    throw Error(message("abs: the error ", absolute_error, " is not between 0 and the radius ", radius,
                        "; give for example a thousandth of it"));
  for (int iterations = 1; iterations <= kMaxAbsIterations; ++iterations) {
    Approximation candidate = absolute_value(radius, iterations);
    if (candidate.error_bound() <= absolute_error) return candidate;
  }
  throw Error(message("abs: ", kMaxAbsIterations, " iterations do not reach the error ", absolute_error,
                      " for radius ", radius, "; allow a larger error"));
}

}  // namespace psm::approx
