#include "ckks/bootstrap/eval_mod.h"

#include <algorithm>
#include <cmath>

#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("a line through points that lie on it is found exactly") {
  std::vector<long double> a, b;
  for (int x = 0; x < 5; ++x) {
    a.insert(a.end(), {1.0L, static_cast<long double>(x)});
    b.push_back(3 - 2.0L * x);
  }
  const auto solution = least_squares(a, b, 2);
  CHECK(std::abs(static_cast<double>(solution[0] - 3)) < 1e-16);
  CHECK(std::abs(static_cast<double>(solution[1] + 2)) < 1e-16);
}

TEST_CASE("the residual of the solution is orthogonal to every column") {
  std::vector<long double> a, b;
  for (int r = 0; r < 12; ++r) {
    for (int c = 0; c < 4; ++c) a.push_back(std::cos(1.1L * r * (c + 1) + c));
    b.push_back(std::sin(0.7L * r * r));
  }
  const auto x = least_squares(a, b, 4);
  for (int c = 0; c < 4; ++c) {
    long double dot = 0;
    for (int r = 0; r < 12; ++r) {
      long double residual = b[r];
      for (int k = 0; k < 4; ++k) residual -= a[4 * r + k] * x[k];
      dot += residual * a[4 * r + c];
    }
    CHECK(std::abs(static_cast<double>(dot)) < 1e-16);
  }
}

TEST_CASE(
    "EvalMod takes eight levels: degree 30 and three double angles; terms of odd degree there are none") {
  const EvalMod eval_mod({});
  CHECK(eval_mod.series().degree() == 30);
  for (int c = 1; c < 30; c += 2) CHECK(eval_mod.series().coefficients[c] == 0);
  CHECK(eval_mod.depth() == 8);
}

TEST_CASE("the sine with the best slope errs by a quarter of the sine's cubic term") {
  const EvalMod eval_mod({});
  const double cubic = std::pow(2 * M_PI / 2048, 2) / 6;  // 2^-19.3
  CHECK(eval_mod.sine_error() < 0.26 * cubic);
  CHECK(std::log2(eval_mod.sine_error()) < -21.2);
}

TEST_CASE(
    "over integers up to 10 the fit adds less than a quarter to the sine's error, and over 11 it adds more") {
  const EvalMod eval_mod({});
  CHECK(eval_mod.exact_up_to() == 10);
  for (int i = -10; i <= 10; ++i) CHECK(eval_mod.max_error(i) < 1.25 * eval_mod.sine_error());
  CHECK(std::max(eval_mod.max_error(11), eval_mod.max_error(-11)) > 1.25 * eval_mod.sine_error());
}

TEST_CASE("over the improbable integers up to K the value keeps at least 13 bits") {
  const EvalMod eval_mod({});
  CHECK(eval_mod.least_bits() > 13);
  CHECK(eval_mod.least_bits() < 14);
  for (int i = -16; i <= 16; ++i) CHECK(-std::log2(eval_mod.max_error(i)) >= eval_mod.least_bits());
}

TEST_CASE("of too many integers the fit is exact over none, and that is said") {
  EvalModSpec spec;
  spec.k = 32;
  spec.summands = 65;
  const EvalMod eval_mod(spec);
  CHECK(eval_mod.exact_up_to() == -1);
  CHECK(eval_mod.max_error(0) > 1.25 * eval_mod.sine_error());
  CHECK(eval_mod.least_bits() < 0);
}

TEST_CASE("the double angles reproduce the sine") {
  const EvalMod eval_mod({});
  for (double u = -8; u <= 8; u += 1) {
    const long double d = eval_mod.evaluate(u + 0.0005L);
    CHECK(std::abs(static_cast<double>(d) - std::sin(2 * M_PI * 0.0005) / (2 * M_PI)) < 0x1p-30);
  }
}

TEST_CASE("a smaller message ratio and a smaller K are fitted as well") {
  EvalModSpec spec;
  spec.k = 8;
  spec.message_ratio = 64;
  spec.summands = 9;
  const EvalMod eval_mod(spec);
  for (int i = -4; i <= 4; ++i) CHECK(eval_mod.max_error(i) < 1.1 * eval_mod.sine_error());
}

}  // namespace

}  // namespace psm::ckks
