#include "ckks/poly/series_worst_case.h"

#include <complex>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

constexpr double kSlack = 1e-6;  // of re and of im, as ranges are checked

TEST_CASE("no argument within the slack of [-1, 1] has a larger value than the bound says") {
  Series series{std::vector<double>(32)};
  series.coefficients[31] = 1;
  const double bound = worst_case_size(series.coefficients);
  double largest = 0;
  for (int i = -1000; i <= 1000; ++i)
    for (const double im : {0.0, kSlack}) {
      const std::complex<double> z(i / 1000.0 * (1 + kSlack), im);
      largest = std::max(largest, std::abs(std::cos(31.0 * std::acos(z))));
    }
  CHECK(largest > 1 + 900 * kSlack);
  CHECK(bound >= largest);
  CHECK(bound < largest * 1.001);
}

TEST_CASE("an error grows no more than the bound says where the argument leaves [-1, 1]") {
  const Context context(insecure_leveled(10, 7));
  std::vector<uint64_t> primes;
  for (int l = 0; l <= context.max_level(); ++l) primes.push_back(context.q(l));
  Series series{std::vector<double>(33)};
  series.coefficients[32] = 1;  // a chain of squares: the triangle inequalities are equalities
  const Level level = context.max_level();
  const SeriesPlan plan =
      plan_series(series, level, context.scale(level), context.scale(level - series.depth()), primes);
  constexpr double kError = 1e-4;
  const auto difference = [&](double x) {
    return static_cast<double>(evaluate(series, x + kError) - evaluate(series, x));
  };
  const double bound = worst_case_series(WorstCaseModel(context), plan, kError);
  CHECK(bound >= difference(1 + kSlack));
  CHECK(bound < difference(1 + kSlack) * 1.01);
}

}  // namespace
}  // namespace psm::ckks
