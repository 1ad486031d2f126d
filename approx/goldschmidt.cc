#include "approx/goldschmidt.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace psm::approx {
namespace {

constexpr int kMaxDivisionLevels = 30;

struct Relaxation {
  std::vector<long double> k;    // k_0 .. k_n, the last being the final factor
  std::vector<long double> rho;  // bounds of |r_i|, rho_n the relative error
};

Relaxation relaxation(long double e, int levels, bool relaxed) {
  Relaxation s;
  // With k_0 = 1 (plain) r_0 = 1 - y lies in [0, 1 - e].
  s.rho.push_back(relaxed ? (1 - e) / (1 + e) : 1 - e);
  for (int i = 0; i < levels; ++i) {
    const long double square = s.rho[i] * s.rho[i];
    s.rho.push_back(relaxed ? square / (2 - square) : square);
  }
  for (int i = 0; i <= levels; ++i) s.k.push_back(relaxed ? 1 + s.rho[i] : 1);
  return s;
}

// Constants of the folded iteration; index i belongs to u_i.
struct Scaling {
  std::vector<long double> lambda;
  std::vector<int> multiple;  // m_i; m_0 is unused
  long double top = 1;        // the largest value of the product: prod lambda_i (1 + rho_i)
};

// From the last factor backwards.
Scaling scale_from(const Relaxation& s, long double last_lambda) {
  const int n = static_cast<int>(s.rho.size()) - 1;
  Scaling scaling{std::vector<long double>(n), std::vector<int>(n, 1), 1};
  scaling.lambda[n - 1] = last_lambda;
  for (int i = n - 2; i >= 0; --i) {
    const long double unscaled = s.k[i + 1] * scaling.lambda[i + 1];
    const long double limit = 1 / (1 + s.rho[i]);
    const int m = std::max(1, static_cast<int>(std::ceil(unscaled / (limit * limit) * (1 - 1e-12L))));
    scaling.multiple[i + 1] = m;
    scaling.lambda[i] = std::sqrt(unscaled / m);
  }
  for (int i = 0; i < n; ++i) scaling.top *= scaling.lambda[i] * (1 + s.rho[i]);
  return scaling;
}

// The free last lambda is chosen so that the result fills [-1, 1] best.
Scaling best_scaling(const Relaxation& s) {
  const long double limit = 1 / (1 + s.rho[s.rho.size() - 2]);
  Scaling best = scale_from(s, limit);
  for (int step = 1; step < 64; ++step) {
    Scaling candidate = scale_from(s, limit * (1 - step / 128.0L));
    if (candidate.top > best.top) best = std::move(candidate);
  }
  return best;
}

Steps steps_of(const Relaxation& s, const Scaling& scaling) {
  Steps steps;
  Steps::Value u = Steps::kArgument, out = steps.add_constant(u, static_cast<double>(scaling.lambda[0]));
  for (size_t i = 1; i < scaling.lambda.size(); ++i) {
    if (i > 1) u = steps.refresh(u), out = steps.refresh(out);
    u = steps.times_integer(steps.multiply(u, u), scaling.multiple[i]);
    const auto constant = static_cast<double>(scaling.lambda[i] * (1 - s.k[i]));
    if (constant != 0) u = steps.add_constant(u, constant);
    out = steps.multiply(out, steps.add_constant(u, static_cast<double>(scaling.lambda[i])));
  }
  return steps;
}

// Each of the 2n stored constants and operations moves r_i by 2^-53, the result by that over e.
long double rounding_of(int levels, long double e) { return levels * 0x1p-50L / e; }

Approximation goldschmidt(Interval domain, int levels, bool relaxed) {
  check_positive(domain, "1/x");
  PSM_CHECK(1 <= levels && levels <= kMaxDivisionLevels, "levels ", levels);
  const long double e = static_cast<long double>(domain.lo) / domain.hi;
  const Relaxation s = relaxation(e, levels, relaxed);
  const Scaling scaling = best_scaling(s);

  long double output = s.k[levels] / domain.hi;
  for (int i = 0; i < levels; ++i) output *= s.k[i] / scaling.lambda[i];

  Approximation::Facts facts;
  facts.function = "1/x";
  facts.method = relaxed ? message("relaxed Goldschmidt, ", levels, levels == 1 ? " level" : " levels")
                         : message("Goldschmidt, ", levels - 1, " iterations");
  facts.certificate = std::string("closed form: the residual 1 - x P(x) is ") +
                      (relaxed ? "T_n(t) / T_n(t_0), n = 2^levels" : "(1 - x / hi)^n, n = 2^levels");
  facts.domain = domain;
  facts.error_kind = ErrorKind::kRelative;
  facts.error_bound = static_cast<double>(s.rho[levels] + rounding_of(levels, e));
  facts.input_scale = static_cast<double>(-scaling.lambda[0] * s.k[0] / domain.hi);
  facts.input_offset = static_cast<double>(scaling.lambda[0]);
  const double top = static_cast<double>(scaling.lambda[0] * s.rho[0]);
  facts.input_range = {relaxed ? -top : 0.0, top};
  facts.output_scale = static_cast<double>(output);
  return Approximation(std::move(facts), steps_of(s, scaling), [](double x) { return 1 / x; });
}

}  // namespace

Approximation goldschmidt_inverse(Interval domain, int iterations) {
  return goldschmidt(domain, iterations + 1, /*relaxed=*/false);
}

Approximation relaxed_goldschmidt_inverse(Interval domain, int levels) {
  return goldschmidt(domain, levels, /*relaxed=*/true);
}

double relaxed_goldschmidt_reach(int levels, double relative_error) {
  check_error(relative_error, "1/x");
  PSM_CHECK(1 <= levels && levels <= kMaxDivisionLevels, "levels ", levels);
  const auto holds = [&](double ratio) {
    return relaxation(1 / static_cast<long double>(ratio), levels, true).rho[levels] +
               rounding_of(levels, 1 / static_cast<long double>(ratio)) <=
           relative_error;
  };
  double low = 1, high = kMaxRatio;
  if (holds(high)) return high;
  while (high > low * (1 + 1e-10)) {
    const double middle = std::sqrt(low * high);
    (holds(middle) ? low : high) = middle;
  }
  // A hair less, so that the ends of an interval may be rounded.
  return std::max(1.0, low * (1 - 1e-10));
}

}  // namespace psm::approx
