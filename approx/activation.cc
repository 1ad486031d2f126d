#include "approx/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "approx/remez.h"
#include "ckks/base/error.h"

namespace psm::approx {
namespace {

constexpr long double kRoot2 = std::numbers::sqrt2_v<long double>;
constexpr int kMaxActivationDegree = 511;
// Beyond this the certificate's interpolant would need too high a degree, and the series too many levels.
constexpr double kMaxRadius = 1000;

long double exact_sigmoid(long double w) {
  return w >= 0 ? 1 / (1 + std::exp(-w)) : std::exp(w) / (1 + std::exp(w));
}

// sigmoid(w) - 1/2 = tanh(w / 2) / 2, without cancellation near 0.
long double centred_sigmoid(long double w) { return std::tanh(w / 2) / 2; }

long double tanh_argument(long double z) { return std::sqrt(2 / kPi) * (z + 0.044715L * z * z * z); }

// z (1/2 + gate(z)) with an odd gate; the sigmoid is 1/2 + gate(z).
struct Gated {
  const char* name;
  long double (*gate)(long double z);
  double (*exact)(double z);
  long double height;  // the gate is analytic where |Im z| <= height ...
  long double bound;   // ... and what is fitted is at most this there, |v| apart
};

constexpr long double kErfHeight = 3;  // of Im(z / sqrt 2)

// In the order of Activation.
const Gated kGated[] = {
    {"sigmoid", centred_sigmoid, [](double z) { return static_cast<double>(exact_sigmoid(z)); }, kPi / 2, 1},
    {"gelu", [](long double z) { return centred_sigmoid(kGeluSlope * z); },
     [](double z) {
       return static_cast<double>(z * exact_sigmoid(static_cast<long double>(kGeluSlope) * z));
     },
     kPi / 2 / kGeluSlope, 1.5L},
    {"silu", centred_sigmoid, [](double z) { return static_cast<double>(z * exact_sigmoid(z)); }, kPi / 2,
     1.5L},
    {"gelu_erf", [](long double z) { return std::erf(z / kRoot2) / 2; },
     [](double z) { return z * std::erfc(-z / std::numbers::sqrt2) / 2; }, kErfHeight* kRoot2,
     0.5L + std::numbers::inv_sqrtpi_v<long double>* kErfHeight* std::exp(kErfHeight* kErfHeight)},
    {"gelu_tanh", [](long double z) { return std::tanh(tanh_argument(z)) / 2; },
     [](double z) { return static_cast<double>(z * exact_sigmoid(2 * tanh_argument(z))); }, 0.75L, 1.5L}};

const Gated& gated(Activation f) { return kGated[static_cast<size_t>(f)]; }

void check_activation_radius(double radius, const char* function) {
  check_radius(radius, function);
  if (radius <= kMaxRadius) return;
  throw Error(
      message(function, ": the radius ", radius, " is above ", kMaxRadius, "; shrink the range by training"));
}

// What is fitted on [-1, 1]: the sigmoid of radius t; or r(z^2) / radius as a function of t = 2 v^2 - 1, v = z / radius.
RealFunction fitted(Activation f, double radius) {
  return [f, gate = gated(f).gate, radius](long double t) -> long double {
    if (f == Activation::kSigmoid) return 0.5L + gate(radius * t);
    const long double v = std::sqrt(std::max((t + 1) / 2, 0.0L));
    return v * gate(radius * v);
  };
}

// rho of the ellipse around [-radius, radius] whose imaginary semi-axis, radius (rho - 1/rho) / 2, is
// `height`.
long double ellipse_rho(long double radius, long double height) {
  return std::exp(std::asinh(height / radius));
}

// out = v / 2 + sum_k c_k T_k(2 v^2 - 1), all divided by `radius` beforehand.
Steps gated_steps(std::vector<double> coefficients) {
  Steps s;
  const Steps::Value v = Steps::kArgument, square = s.multiply(v, v),
                     t = s.add_constant(s.add(square, square), -1);
  const Steps::Value even = s.series(t, std::move(coefficients)), half = s.multiply_constant(v, 0.5);
  s.add(half, even);
  return s;
}

MinimaxFit fit(Activation f, double radius, int degree) {
  return remez(
      fitted(f, radius), [](long double) { return 1.0L; }, degree, 1e-3L);
}

// The polynomial with the coefficients of such a fit.
Approximation certified(Activation f, double radius, int degree, Coefficients c) {
  const Gated& g = gated(f);
  long double rho = ellipse_rho(radius, g.height), bound = g.bound, scale = radius;
  Steps steps;
  if (f == Activation::kSigmoid) {
    c[0] = 0.5L;
    for (size_t k = 2; k < c.size(); k += 2) c[k] = 0;  // sigmoid - 1/2 is odd, and so is its best fit
    steps.series(Steps::kArgument, to_double(c));
    scale = 1;
  } else {
    // An ellipse with parameter rho in v is one with rho^2 in t; there |v| <= (rho + 1/rho) / 2.
    bound *= (rho + 1 / rho) / 2;
    rho *= rho;
    steps = gated_steps(to_double(c));
  }
  const double error = certified_error(to_double(c), fitted(f, radius), rho, bound);
  return Approximation(
      {.function = g.name,
       .method = message("minimax of degree ", degree, f == Activation::kSigmoid ? "" : " in z^2"),
       .certificate = "range of the difference to an interpolant of high degree, by grid and "
                      "second derivative; tail by analyticity",
       .domain = {-radius, radius},
       .error_kind = ErrorKind::kAbsolute,
       .error_bound = error * static_cast<double>(scale),
       .input_scale = 1 / radius,
       .output_scale = static_cast<double>(scale)},
      steps, g.exact);
}

}  // namespace

double activation(Activation f, double z) { return gated(f).exact(z); }

Approximation activation_series(Activation f, double radius, int degree) {
  check_activation_radius(radius, gated(f).name);
  PSM_CHECK(1 <= degree && degree <= kMaxActivationDegree, "degree ", degree);
  return certified(f, radius, degree, fit(f, radius, degree).coefficients);
}

Approximation design_activation(Activation f, double radius, double absolute_error) {
  const char* name = gated(f).name;
  check_activation_radius(radius, name);
  check_error(absolute_error, name);
  const double scale = f == Activation::kSigmoid ? 1 : radius;
  for (int degree = 1; degree <= kMaxActivationDegree; degree = 2 * degree + 1) {
    const MinimaxFit candidate = fit(f, radius, degree);
    if (candidate.lower_bound * scale > absolute_error) continue;  // no certificate could show it
    Approximation approximation = certified(f, radius, degree, candidate.coefficients);
    if (approximation.error_bound() <= absolute_error) return approximation;
  }
  throw Error(message(name, ": no polynomial of degree ", kMaxActivationDegree, " has error ", absolute_error,
                      " on [", -radius, ", ", radius,
                      "]; shrink the range by training or allow a larger error"));
}

}  // namespace psm::approx
