#include "approx/inverse.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "approx/goldschmidt.h"
#include "approx/goldschmidt_sqrt.h"
#include "ckks/base/error.h"

namespace psm::approx {
namespace {

constexpr int kMaxLevels = 24;
constexpr int kMaxSeriesLevels = 10;
constexpr int kMaxIterations = (kMaxLevels + 1) / 2;  // of 1/sqrt(x)

// The first size in [first, last] whose member of a family has the error.
template <typename Factory>
std::optional<Approximation> first_within(double relative_error, int first, int last,
                                          const Factory& factory) {
  for (int size = first; size <= last; ++size) {
    std::optional<Approximation> candidate = factory(size);
    if (candidate && candidate->error_bound() <= relative_error) return candidate;
  }
  return std::nullopt;
}

// The series of about the least degree that has the error: doubling, then bisection to a thirty-second.
std::optional<Approximation> shortest_series(Interval domain, double relative_error) {
  for (int levels = 1; levels <= kMaxSeriesLevels; ++levels) {
    int enough = (1 << levels) - 1, below = (1 << (levels - 1)) - 1;
    std::optional<Approximation> best = series_inverse_sqrt(domain, enough);
    if (!best || best->error_bound() > relative_error) continue;
    while (enough - below > std::max(1, enough / 32)) {
      const int degree = (enough + below) / 2;
      std::optional<Approximation> candidate = series_inverse_sqrt(domain, degree);
      if (candidate && candidate->error_bound() <= relative_error) {
        enough = degree;
        best = std::move(candidate);
      } else {
        below = degree;
      }
    }
    return best;
  }
  return std::nullopt;
}

// The first of Goldschmidt's iterations (goldschmidt_sqrt.h).
std::optional<Approximation> first_inverse_sqrt(Interval domain, double relative_error, bool relaxed) {
  return first_within(relative_error, 1, kMaxIterations,
                      [&](int iterations) { return goldschmidt_inverse_sqrt(domain, iterations, relaxed); });
}

void check(const char* function, Interval domain, double relative_error) {
  check_positive(domain, function);
  check_error(relative_error, function);
}

Approximation found(std::optional<Approximation> best, const char* what, Interval domain, double error) {
  if (best) return *best;
  throw Error(message(what, ": no program that is tried here, of at most ", kMaxLevels,
                      " levels, has relative error ", error, " on [", domain.lo, ", ", domain.hi,
                      "]; narrow the interval or allow a larger error"));
}

}  // namespace

Approximation design_inverse(Interval domain, double relative_error) {
  check("1/x", domain, relative_error);
  return found(first_within(relative_error, 1, kMaxLevels,
                            [&](int levels) { return relaxed_goldschmidt_inverse(domain, levels); }),
               "1/x", domain, relative_error);
}

Interval inverse_reach(Interval domain, double relative_error) {
  const int levels = std::max(1, design_inverse(domain, relative_error).depth());  // an affine one takes none
  return {domain.lo, std::max(domain.hi, domain.lo * relaxed_goldschmidt_reach(levels, relative_error))};
}

Approximation design_inverse_sqrt(Interval domain, double relative_error) {
  check("1/sqrt(x)", domain, relative_error);
  // The minimax series has the fewest levels, except that an affine function takes none.
  std::optional<Approximation> best = shortest_series(domain, relative_error),
                               relaxed = first_inverse_sqrt(domain, relative_error, /*relaxed=*/true);
  if (relaxed && (!best || relaxed->depth() < best->depth())) best = std::move(relaxed);
  return found(std::move(best), "1/sqrt(x)", domain, relative_error);
}

Approximation design_goldschmidt_inverse(Interval domain, double relative_error) {
  check("1/x", domain, relative_error);
  return found(first_within(relative_error, 0, kMaxLevels - 1,
                            [&](int iterations) { return goldschmidt_inverse(domain, iterations); }),
               "1/x by Goldschmidt's plain iteration", domain, relative_error);
}

Approximation design_goldschmidt_inverse_sqrt(Interval domain, double relative_error) {
  check("1/sqrt(x)", domain, relative_error);
  return found(first_inverse_sqrt(domain, relative_error, /*relaxed=*/false),
               "1/sqrt(x) by Goldschmidt's plain iteration", domain, relative_error);
}

}  // namespace psm::approx
