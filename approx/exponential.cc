#include "approx/exponential.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "approx/chebyshev.h"
#include "ckks/base/error.h"

namespace psm::approx {
namespace {

constexpr int kMaxExpDegree = 63;
constexpr int kMaxSquarings = 20;
constexpr double kMaxArgument = 32;   // of the series: beyond it no degree allowed here is of use
constexpr double kMaxExponent = 700;  // beyond it, either way, exp is no normal double much further

void check_exponent(Interval domain) {
  check_interval(domain, "exp");
  if (domain.lo < -kMaxExponent || domain.hi > kMaxExponent)
    throw Error(message("exp on [", domain.lo, ", ", domain.hi,
                        "] is beyond double precision; give an interval within [", -kMaxExponent, ", ",
                        kMaxExponent, "]"));
  if (domain.width() > kMaxExponent)  // the steps compute exp(x - hi)
    throw Error(message("exp on [", domain.lo, ", ", domain.hi, "] spans more than a ratio of e^",
                        kMaxExponent, "; give a narrower interval"));
}

}  // namespace

Approximation taylor_exp(Interval domain, int degree, int squarings) {
  check_exponent(domain);
  PSM_CHECK(1 <= degree && degree <= kMaxExpDegree && 0 <= squarings && squarings <= kMaxSquarings, "degree ",
            degree, " squarings ", squarings);
  const long double power = std::ldexp(1.0L, squarings);
  const long double a = static_cast<long double>(domain.width()) / 2 / power;
  if (a > kMaxArgument)
    throw Error(message("exp: ", squarings, " squarings leave a series on [-", static_cast<double>(a), ", ",
                        static_cast<double>(a), "]; take more squarings or narrow the interval"));
  // exp(-a) sum (a v)^k / k!, in v in [-1, 1].
  Coefficients monomial(degree + 1);
  long double term = std::exp(-a);
  for (int k = 0; k <= degree; ++k) {
    monomial[k] = term;
    term *= a / (k + 1);
  }
  Steps steps;
  Steps::Value root = steps.series(Steps::kArgument, to_double(chebyshev_from_monomial(monomial)));
  for (int i = 0; i < squarings; ++i) {
    if (i > 0) root = steps.refresh(root);
    root = steps.multiply(root, root);
  }

  // After the loop term = exp(-a) a^(d+1) / (d+1)!.
  const long double delta = term * std::exp(2 * a) + 0x1p-50L * (degree + 1) * std::exp(2 * a);
  Approximation::Facts facts;
  facts.function = "exp";
  facts.method =
      message("Taylor of degree ", degree, ", ", squarings, squarings == 1 ? " squaring" : " squarings");
  facts.certificate = "Lagrange's remainder; squarings multiply its logarithm";
  facts.domain = domain;
  facts.error_kind = ErrorKind::kRelative;
  // Where the remainder is no small number the bound overflows to something useless but finite.
  facts.error_bound = static_cast<double>(std::expm1(std::min(power * std::log1p(delta), 700.0L)));
  // The map to v rounds, which moves x by some units of 2^-53 of |x|. The rounding in delta covers as much for |x| up
  // to the width; this covers the distance of the interval from 0.
  facts.error_bound += 0x1p-51 * std::max({domain.lo, -domain.hi, 0.0});
  facts.input_scale = domain.to_unit_scale();
  facts.input_offset = domain.to_unit_offset();
  facts.output_scale = std::exp(domain.hi);
  return Approximation(std::move(facts), steps, [](double x) { return std::exp(x); });
}

Approximation design_exp(Interval domain, double relative_error) {
  check_exponent(domain);
  check_error(relative_error, "exp");
  for (int depth = 1; depth <= kMaxSquarings + 1; ++depth) {
    std::optional<Approximation> best;
    for (int levels = 1; levels <= 5 && levels <= depth; ++levels) {
      if (std::ldexp(domain.width() / 2, levels - depth) > kMaxArgument) continue;
      Approximation candidate = taylor_exp(domain, (1 << levels) - 1, depth - levels);
      if (candidate.error_bound() > relative_error) continue;
      if (!best || candidate.multiplications() < best->multiplications()) best = std::move(candidate);
    }
    if (best) return *best;
  }
  throw Error(message("exp: no program of ", kMaxSquarings + 1, " levels has relative error ", relative_error,
                      " on [", domain.lo, ", ", domain.hi, "]; narrow the interval or allow a larger error"));
}

}  // namespace psm::approx
