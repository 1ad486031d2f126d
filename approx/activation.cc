#include "approx/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "approx/certify.h"
#include "approx/domain.h"
#include "approx/remez.h"
#include "ckks/base/error.h"

namespace psm::approx {
namespace {

constexpr long double kPi = std::numbers::pi_v<long double>;
constexpr int kMaxDegree = 511;

long double exact_sigmoid(long double w) {
  return w >= 0 ? 1 / (1 + std::exp(-w)) : std::exp(w) / (1 + std::exp(w));
}

// sigmoid(w) - 1/2 = tanh(w / 2) / 2, without cancellation near 0.
long double centred_sigmoid(long double w) { return std::tanh(w / 2) / 2; }

// rho of the ellipse around [-radius, radius] whose imaginary semi-axis, radius (rho - 1/rho) / 2, is
// `height`.
long double ellipse_rho(long double radius, long double height) {
  return std::exp(std::asinh(height / radius));
}

// Beyond this the certificate's interpolant would need too high a degree, and the series too many levels.
constexpr double kMaxRadius = 1000;

void check_activation_radius(double radius, const char* function) {
  check_radius(radius, function);
  if (radius <= kMaxRadius) return;
  throw Error(
      message(function, ": the radius ", radius, " is above ", kMaxRadius, "; shrink the range by training"));
}

Coefficients minimax(const RealFunction& f, int degree) {
  return remez(
             f, [](long double) { return 1.0L; }, degree, 1e-3L)
      .coefficients;
}

// A lower estimate of the interpolant's error, from points between its nodes.
double interpolation_error(const RealFunction& f, int degree) {
  const Coefficients c = chebyshev_interpolate(f, degree);
  long double worst = 0;
  for (int i = 0; i <= degree + 1; ++i) {
    const long double t = std::cos(kPi * i / (degree + 1));
    worst = std::max(worst, std::fabs(f(t) - clenshaw(c, t)));
  }
  return static_cast<double>(worst);
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

// The first 2^k - 1 whose approximation has the error. The interpolant's error is at most 1 + Lambda times
// the minimax error, Lambda < 5 up to degree 511 (Lebesgue's constant of the Chebyshev points), so a degree
// whose interpolant misses by more is not worth a fit.
template <typename Factory>
Approximation least_degree(const char* function, double radius, double error, const RealFunction& f,
                           double scale, const Factory& factory) {
  for (int degree = 1; degree <= kMaxDegree; degree = 2 * degree + 1) {
    if (interpolation_error(f, degree) * scale > 6 * error) continue;
    Approximation candidate = factory(degree);
    if (candidate.error_bound() <= error) return candidate;
  }
  throw Error(message(function, ": no polynomial of degree ", kMaxDegree, " has error ", error, " on [",
                      -radius, ", ", radius, "]; shrink the range by training or allow a larger error"));
}

// z (1/2 + gate(z)) with an odd gate.
struct Gated {
  const char* name;
  long double (*gate)(long double z);
  double (*exact)(double z);
  long double height;  // the gate is analytic where |Im z| <= height ...
  long double bound;   // ... and at most this there
};

constexpr long double kErfHeight = 3;  // of Im(z / sqrt 2)

const Gated kGelu{"gelu", [](long double z) { return centred_sigmoid(kGeluSlope * z); }, gelu,
                  kPi / 2 / kGeluSlope, 1.5L};
const Gated kSilu{"silu", centred_sigmoid, silu, kPi / 2, 1.5L};
const Gated kGeluErf{
    "gelu_erf", [](long double z) { return std::erf(z / std::numbers::sqrt2_v<long double>) / 2; }, gelu_erf,
    kErfHeight* std::numbers::sqrt2_v<long double>,
    0.5L + std::numbers::inv_sqrtpi_v<long double>* kErfHeight* std::exp(kErfHeight* kErfHeight)};

long double tanh_argument(long double z) { return std::sqrt(2 / kPi) * (z + 0.044715L * z * z * z); }
const Gated kGeluTanh{"gelu_tanh", [](long double z) { return std::tanh(tanh_argument(z)) / 2; }, gelu_tanh,
                      0.75L, 1.5L};

// r(z^2) / radius as a function of t = 2 v^2 - 1, v = z / radius.
RealFunction even_part(const Gated& f, double radius) {
  return [gate = f.gate, radius](long double t) {
    const long double v = std::sqrt(std::max((t + 1) / 2, 0.0L));
    return v * gate(radius * v);
  };
}

RealFunction scaled_sigmoid(double radius) {
  return [radius](long double t) { return 0.5L + centred_sigmoid(radius * t); };
}

Approximation::Facts facts_of(const char* function, std::string method, double radius, double error) {
  return {.function = function,
          .method = std::move(method),
          .certificate =
              "range of the difference to an interpolant of high degree, by grid and second derivative; "
              "tail by analyticity",
          .domain = {-radius, radius},
          .input_range = {-1, 1},
          .error_kind = ErrorKind::kAbsolute,
          .error_bound = error,
          .input_scale = 1 / radius};
}

Approximation gated_series(const Gated& f, double radius, int degree_u) {
  check_activation_radius(radius, f.name);
  PSM_CHECK(1 <= degree_u && degree_u <= kMaxDegree, "degree ", degree_u);
  const RealFunction r = even_part(f, radius);
  std::vector<double> coefficients = to_double(minimax(r, degree_u));
  // An ellipse with parameter rho in v is one with rho^2 in t; there |v| <= (rho + 1/rho) / 2.
  const long double rho = ellipse_rho(radius, f.height);
  const double error =
      certified_error(coefficients, r, {.rho = rho * rho, .bound = f.bound * (rho + 1 / rho) / 2});

  Approximation::Facts facts =
      facts_of(f.name, message("minimax of degree ", degree_u, " in z^2"), radius, error * radius);
  facts.output_scale = radius;
  return Approximation(std::move(facts), gated_steps(std::move(coefficients)), f.exact);
}

Approximation design_gated(const Gated& f, double radius, double absolute_error) {
  check_activation_radius(radius, f.name);
  check_error(absolute_error, f.name);
  return least_degree(f.name, radius, absolute_error, even_part(f, radius), radius,
                      [&](int degree) { return gated_series(f, radius, degree); });
}

}  // namespace

double sigmoid(double z) { return static_cast<double>(exact_sigmoid(z)); }
double gelu(double z) {
  return static_cast<double>(z * exact_sigmoid(static_cast<long double>(kGeluSlope) * z));
}
double silu(double z) { return static_cast<double>(z * exact_sigmoid(z)); }
double gelu_erf(double z) { return z * std::erfc(-z / std::numbers::sqrt2) / 2; }
double gelu_tanh(double z) { return static_cast<double>(z * exact_sigmoid(2 * tanh_argument(z))); }

Approximation gelu_series(double radius, int degree_u) { return gated_series(kGelu, radius, degree_u); }

Approximation silu_series(double radius, int degree_u) { return gated_series(kSilu, radius, degree_u); }
Approximation gelu_erf_series(double radius, int degree_u) {
  return gated_series(kGeluErf, radius, degree_u);
}
Approximation gelu_tanh_series(double radius, int degree_u) {
  return gated_series(kGeluTanh, radius, degree_u);
}

Approximation sigmoid_series(double radius, int degree) {
  check_activation_radius(radius, "sigmoid");
  PSM_CHECK(1 <= degree && degree <= kMaxDegree, "degree ", degree);
  const RealFunction f = scaled_sigmoid(radius);
  Coefficients c = minimax(f, degree);
  c[0] = 0.5L;
  for (size_t k = 2; k < c.size(); k += 2) c[k] = 0;  // sigmoid - 1/2 is odd, and so is its best fit
  Steps steps;
  steps.series(Steps::kArgument, to_double(c));
  const double error = certified_error(to_double(c), f, {.rho = ellipse_rho(radius, kPi / 2), .bound = 1});

  return Approximation(facts_of("sigmoid", message("minimax of degree ", degree), radius, error), steps,
                       sigmoid);
}

Approximation design_gelu(double radius, double absolute_error) {
  return design_gated(kGelu, radius, absolute_error);
}
Approximation design_silu(double radius, double absolute_error) {
  return design_gated(kSilu, radius, absolute_error);
}
Approximation design_gelu_erf(double radius, double absolute_error) {
  return design_gated(kGeluErf, radius, absolute_error);
}
Approximation design_gelu_tanh(double radius, double absolute_error) {
  return design_gated(kGeluTanh, radius, absolute_error);
}

Approximation design_sigmoid(double radius, double absolute_error) {
  check_activation_radius(radius, "sigmoid");
  check_error(absolute_error, "sigmoid");
  return least_degree("sigmoid", radius, absolute_error, scaled_sigmoid(radius), 1,
                      [&](int degree) { return sigmoid_series(radius, degree); });
}

}  // namespace psm::approx
