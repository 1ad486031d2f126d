#include "approx/inverse.h"

#include <optional>

#include "approx/domain.h"
#include "approx/goldschmidt.h"
#include "approx/goldschmidt_sqrt.h"
#include "ckks/base/error.h"

namespace psm {
namespace {

constexpr int kMaxLevels = 24;
constexpr int kMaxSeriesLevels = 9;
constexpr int kMaxStartLevels = 7;

[[noreturn]] void out_of_reach(const char* function, const Interval& domain, double error) {
  throw Error(message(function, ": no program of ", kMaxLevels, " levels has relative error ", error, " on [",
                      domain.lo, ", ", domain.hi, "]; narrow the interval or allow a larger error"));
}

// The series of least degree that has the error, among the degrees of this many levels.
std::optional<Approximation> shortest_series(Interval domain, int levels, double relative_error) {
  int enough = (1 << levels) - 1, below = (1 << (levels - 1)) - 1;
  std::optional<Approximation> best = series_inverse_sqrt(domain, enough);
  if (!best || best->error_bound() > relative_error) return std::nullopt;
  while (enough - below > 1) {
    const int degree = (enough + below) / 2;
    std::optional<Approximation> candidate = degree > 0 ? series_inverse_sqrt(domain, degree) : std::nullopt;
    if (candidate && candidate->error_bound() <= relative_error) {
      enough = degree;
      best = std::move(candidate);
    } else {
      below = degree;
    }
  }
  return best;
}

}  // namespace

Approximation design_inverse(Interval domain, double relative_error) {
  check_positive(domain, "1/x");
  check_error(relative_error, "1/x");
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    Approximation candidate = relaxed_goldschmidt_inverse(domain, levels);
    if (candidate.error_bound() <= relative_error) return candidate;
  }
  out_of_reach("1/x", domain, relative_error);
}

Approximation design_inverse_sqrt(Interval domain, double relative_error) {
  check_positive(domain, "1/sqrt(x)");
  check_error(relative_error, "1/sqrt(x)");
  for (int levels = 1; levels <= kMaxLevels; ++levels) {
    std::optional<Approximation> best;
    const auto consider = [&](std::optional<Approximation> candidate) {
      if (!candidate || candidate->error_bound() > relative_error) return;
      if (!best || candidate->multiplications() < best->multiplications()) best = std::move(candidate);
    };
    if (levels % 2 == 1) consider(relaxed_goldschmidt_inverse_sqrt(domain, (levels + 1) / 2));
    for (int iterations = 1; levels - 2 * iterations >= 1; ++iterations)
      if (levels - 2 * iterations <= kMaxStartLevels)
        consider(start_goldschmidt_inverse_sqrt(domain, levels - 2 * iterations, iterations));
    if (levels <= kMaxSeriesLevels) consider(shortest_series(domain, levels, relative_error));
    if (best) return *best;
  }
  out_of_reach("1/sqrt(x)", domain, relative_error);
}

}  // namespace psm
