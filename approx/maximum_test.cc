#include "approx/maximum.h"

#include <algorithm>
#include <cmath>

#include "approx/testing/testing.h"
#include "ckks/base/error.h"
#include "ckks/program/machines/twin.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE("K iterations take 2K levels and approximate |x| within the certificate") {
  for (const double radius : {1.0, 40.0})
    for (const int iterations : {1, 2, 5, 9}) {
      const Approximation absolute = absolute_value(radius, iterations);
      CAPTURE(absolute.name());
      const double worst = worst_error(absolute, 200001);
      CHECK(worst <= absolute.error_bound());
      CHECK(worst > 0.95 * absolute.error_bound());
      const ProgramReport report = run_program(absolute);
      CHECK(report.depth == 2 * iterations);
      CHECK(absolute.depth() == 2 * iterations);
      CHECK(report.worst_difference < 1e-12);
      CHECK(report.refreshes == iterations - 1);
      CHECK(report.largest <= 1 + absolute.error_bound() / radius);
    }
}

TEST_CASE("max(a, b) on slots is within half the bound of |a - b|") {
  const double bound_of_scores = 3;
  const Approximation absolute = design_absolute_value(2 * bound_of_scores, 0.01);
  CHECK(absolute.error_bound() <= 0.01);
  constexpr int kSlots = 1024;
  program::Builder builder(kSlots);
  const program::Value a = builder.input("a", true), b = builder.input("b", true);
  builder.output("max", build_max(builder, absolute, a, b, "difference of scores"));
  const program::Program program = std::move(builder).finish();
  CHECK(longest_path(program) == absolute.depth());
  program::SlotVector left(kSlots), right(kSlots);
  for (int i = 0; i < kSlots; ++i) {
    left[i] = absolute.input_scale() * bound_of_scores * std::sin(1.0 + 0.7 * i);
    right[i] = absolute.input_scale() * bound_of_scores * std::cos(0.3 * i);
  }
  const program::SlotVector out = program::run_twin(program, {{"a", left}, {"b", right}}).outputs.at("max");
  double worst = 0;
  for (int i = 0; i < kSlots; ++i) {
    const double exact = std::max(left[i].real(), right[i].real()) / absolute.input_scale();
    worst = std::max(worst, std::fabs(out[i].real() * absolute.output_scale() / 2 - exact));
    CHECK(std::fabs(out[i].real()) <= 1);
  }
  CHECK(worst <= absolute.error_bound() / 2);
}

TEST_CASE("bad requests are refused") {
  CHECK_THROWS_AS(design_absolute_value(-1, 0.1), Error);
  CHECK_THROWS_AS(design_absolute_value(1, 1), Error);
  CHECK_THROWS_WITH_AS(design_absolute_value(1, 1e-13), doctest::Contains("allow a larger error"), Error);
}

}  // namespace
}  // namespace psm::approx
