#include "approx/goldschmidt_sqrt.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "approx/remez.h"

namespace psm::approx {
namespace {

constexpr int kMaxRootIterations = 30;
constexpr int kMaxSeriesDegree = 1023;

double exact_inverse_sqrt(double x) { return 1 / std::sqrt(x); }

// Constants of the folded iteration; index i belongs to B_i and Z_i, i = 0 .. K - 1.
struct FoldedRoot {
  std::vector<double> a;      // A_i
  std::vector<double> nu;     // scales Z_i after its product; nu_0 is unused
  std::vector<int> multiple;  // m_i; m_0 is unused
  long double input = 1;      // mu_0
  long double output = 1;     // what Z_K must be multiplied by to be z_K

  Steps steps() const {
    Steps s;
    Steps::Value b = Steps::kArgument, z = Steps::kArgument;
    for (size_t i = 0; i < a.size(); ++i) {
      if (i > 0) b = s.refresh(b), z = s.refresh(z);
      const Steps::Value f = s.add_constant(s.negate(b), a[i]);
      z = i > 0 ? s.multiply(z, f) : f;
      if (i + 1 == a.size()) break;
      z = s.multiply_constant(z, nu[i + 1]);
      b = s.times_integer(s.multiply(s.multiply(b, f), f), multiple[i + 1]);
    }
    return s;
  }
};

struct Iteration {
  std::vector<long double> alpha, beta;
  std::vector<long double> e;  // e_0 .. e_K: b_i lies in [e_i, 1]
};

Iteration iterate(long double e, int count, bool relaxed) {
  Iteration it;
  it.e.push_back(e);
  for (int i = 0; i < count; ++i) {
    const long double low = it.e.back();
    const long double alpha = relaxed ? std::sqrt(27 / (4 * (1 + std::sqrt(low) + low))) : 1.5L;
    const long double beta = relaxed ? 4 * alpha * alpha * alpha / 27 : 0.5L;
    const long double f = alpha - beta * low;
    it.alpha.push_back(alpha);
    it.beta.push_back(beta);
    it.e.push_back(low * f * f);
  }
  return it;
}

FoldedRoot fold(const Iteration& it) {
  const int count = static_cast<int>(it.alpha.size());
  FoldedRoot folded;
  std::vector<long double> mu(count, 1);
  // f_i at x = lo, where it is largest.
  const auto largest = [&](int i) { return it.alpha[i] - it.beta[i] * it.e[i]; };
  folded.multiple.assign(count, 1);
  folded.nu.assign(count, 1);
  // The last factor, after which nothing is scaled, is at most 1.
  mu[count - 1] = std::min(it.beta[count - 1] / largest(count - 1), 1.0L);
  for (int i = count - 2; i >= 0; --i) {
    const long double cube = mu[i + 1] * it.beta[i] * it.beta[i];
    folded.multiple[i + 1] = std::max(1, static_cast<int>(std::ceil(cube * (1 - 1e-12L))));
    mu[i] = std::cbrt(cube / folded.multiple[i + 1]);
  }
  folded.input = mu[0];
  for (int i = 0; i < count; ++i) {
    const long double ratio = mu[i] / it.beta[i];
    folded.a.push_back(static_cast<double>(ratio * it.alpha[i]));
    folded.output /= ratio;
    if (i + 1 == count) break;
    folded.nu[i + 1] = static_cast<double>(1 / (ratio * largest(i)));
    folded.output *= ratio * largest(i);
  }
  return folded;
}

Coefficients minimax_inverse_sqrt(Interval domain, int degree) {
  const RealFunction root = [lo = static_cast<long double>(domain.lo),
                             hi = static_cast<long double>(domain.hi)](long double t) {
    return std::sqrt((hi + lo) / 2 + (hi - lo) / 2 * t);
  };
  return remez([root](long double t) { return 1 / root(t); }, root, degree, 1e-3L).coefficients;
}

std::vector<double> scaled(const Coefficients& c, long double factor) {
  std::vector<double> out;
  for (const long double x : c) out.push_back(static_cast<double>(x * factor));
  return out;
}

Approximation::Facts facts_for(Interval domain, std::string method) {
  Approximation::Facts facts;
  facts.function = "1/sqrt(x)";
  facts.method = std::move(method);
  facts.domain = domain;
  facts.error_kind = ErrorKind::kRelative;
  return facts;
}

}  // namespace

Approximation goldschmidt_inverse_sqrt(Interval domain, int iterations, bool relaxed) {
  check_positive(domain, "1/sqrt(x)");
  PSM_CHECK(1 <= iterations && iterations <= kMaxRootIterations, "iterations ", iterations);
  const long double e = static_cast<long double>(domain.lo) / domain.hi;
  const Iteration it = iterate(e, iterations, relaxed);
  const FoldedRoot folded = fold(it);
  const long double low = std::sqrt(it.e.back()), output = folded.output * (relaxed ? 2 / (1 + low) : 1);

  Approximation::Facts facts =
      facts_for(domain, std::string(relaxed ? "relaxed Goldschmidt, " : "Goldschmidt, ") +
                            std::to_string(iterations) + (iterations == 1 ? " iteration" : " iterations"));
  facts.certificate = relaxed ? "closed form: b -> b (alpha - beta b)^2 maps [e, 1] into [e', 1]"
                              : "closed form: b -> b (3 - b)^2 / 4 is increasing on [0, 1]";
  facts.error_bound =
      static_cast<double>((relaxed ? (1 - low) / (1 + low) : 1 - low) + iterations * 0x1p-49L / e);
  facts.input_scale = static_cast<double>(folded.input / domain.hi);
  facts.input_range = {static_cast<double>(folded.input * e), static_cast<double>(folded.input)};
  facts.output_scale = static_cast<double>(output / std::sqrt(static_cast<long double>(domain.hi)));
  return Approximation(std::move(facts), folded.steps(), exact_inverse_sqrt);
}

std::optional<Approximation> series_inverse_sqrt(Interval domain, int degree) {
  check_positive(domain, "1/sqrt(x)");
  PSM_CHECK(1 <= degree && degree <= kMaxSeriesDegree, "degree ", degree);
  const long double scale = 1 / std::sqrt(static_cast<long double>(domain.lo));
  const std::vector<double> coefficients = scaled(minimax_inverse_sqrt(domain, degree), 1 / scale);

  Approximation::Facts facts = facts_for(domain, message("minimax series of degree ", degree));
  facts.certificate = "range of y p^2 by grid and second derivative";
  facts.error_bound = certified_inverse_sqrt_error(scaled(to_long(coefficients), scale), domain);
  facts.input_scale = domain.to_unit_scale();
  facts.input_offset = domain.to_unit_offset();
  facts.output_scale = static_cast<double>(scale);
  if (!(facts.error_bound < 1)) return std::nullopt;
  Steps steps;
  steps.series(Steps::kArgument, coefficients);
  return Approximation(std::move(facts), steps, exact_inverse_sqrt);
}

}  // namespace psm::approx
