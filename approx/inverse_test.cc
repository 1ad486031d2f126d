#include "approx/inverse.h"

#include <limits>

#include "approx/testing/testing.h"
#include "ckks/base/testing/check.h"

namespace psm::approx {
namespace {

TEST_CASE("an inverse reaches upwards as far as its levels hold, and no further") {
  for (const double error : {0x1p-8, 0x1p-12})
    for (const double ratio : {1.1, 2.0, 7.0, 14.2, 420.0, 422.0, 1000.0, 1684.0, 1e6}) {
      CAPTURE(error);
      CAPTURE(ratio);
      const Interval domain{0.2, 0.2 * ratio}, wide = inverse_reach(domain, error);
      const Approximation inverse = design_inverse(wide, error);
      CHECK(wide.lo == domain.lo);
      CHECK(wide.hi >= domain.hi);
      CHECK(inverse.depth() == design_inverse(domain, error).depth());
      CHECK(design_inverse({wide.lo, wide.hi * 1.0001}, error).depth() > inverse.depth());
      CHECK(inverse.error_bound() > 0.999 * error);
      CHECK(worst_error(inverse, 10001) <= inverse.error_bound());
    }
}

TEST_CASE("beyond its interval an inverse is a little wrong below, and by orders of magnitude above") {
  const Interval domain{0.2, 200};
  const Approximation inverse = design_inverse(domain, 0x1p-8);
  CHECK(inverse.error_at(domain.lo / 1.25) < 0.02);
  CHECK(inverse.error_at(domain.hi * 1.02) > 1e6);
  const Interval whole = inverse_reach(domain, 0x1p-8);
  const Approximation reaching = design_inverse(whole, 0x1p-8);
  CHECK(reaching.error_at(whole.lo / 1.25) < 0.05);
  CHECK(reaching.error_at(whole.hi * 1.02) > 1e6);
}

TEST_CASE("a designed inverse square root has the error asked for, with the fewest levels") {
  struct Case {
    double ratio, error;
    int depth;
  };
  // The first and the last are relaxed iterations: one is affine, and no series is long enough for 1e5.
  for (const Case c : {Case{1.05, 0x1p-8, 0},
                       {4, 0x1p-12, 3},
                       {100, 0x1p-12, 6},
                       {1e3, 0x1p-12, 7},
                       {1e3, 0x1p-20, 8},
                       {1e5, 0x1p-12, 17}}) {
    const Approximation root = design_inverse_sqrt({2, 2 * c.ratio}, c.error);
    CAPTURE(root.name());
    CHECK(root.depth() == c.depth);
    CHECK(root.error_bound() <= c.error);
    CHECK(worst_error(root, 10001) <= root.error_bound());
  }
}

TEST_CASE("only the ratio of the ends counts") {
  const Approximation a = design_inverse({1e-3, 2}, 0x1p-12), b = design_inverse({1, 2000}, 0x1p-12);
  CHECK(a.depth() == b.depth());
  CHECK(a.error_bound() == doctest::Approx(b.error_bound()).scale(0));
  CHECK(a.evaluate(0.5) * 0.5 == doctest::Approx(b.evaluate(500) * 500).epsilon(1e-10));
  CHECK(design_inverse({0.9, 1}, 0.1).depth() == 0);
}

TEST_CASE("Goldschmidt's plain iteration for 1/x takes the fewest iterations that have the error") {
  const Approximation plain = design_goldschmidt_inverse({1e-3, 1}, 0x1p-12);
  CHECK(plain.depth() == 14);
  CHECK(plain.method() == "Goldschmidt, 13 iterations");
  CHECK_REFUSED(design_goldschmidt_inverse({1e-8, 1}, 1e-5), "plain iteration");
}

TEST_CASE("Goldschmidt's plain iteration for 1/sqrt(x) takes the fewest iterations that have the error") {
  const Approximation plain = design_goldschmidt_inverse_sqrt({1e-2, 1}, 0x1p-12);
  CHECK(plain.method() == "Goldschmidt, 9 iterations");
  CHECK(plain.error_bound() <= 0x1p-12);
  CHECK(worst_error(plain, 10001) <= plain.error_bound());
  CHECK_REFUSED(design_goldschmidt_inverse_sqrt({1e-9, 1}, 0x1p-12), "plain iteration");
}

TEST_CASE("bad intervals and errors are refused in one line") {
  const double infinity = std::numeric_limits<double>::infinity();
  for (const Interval bad :
       {Interval{0, 1}, Interval{-1, 1}, Interval{2, 1}, Interval{1, 1}, Interval{1, infinity},
        Interval{1e-300, 1e300}, Interval{std::numeric_limits<double>::quiet_NaN(), 1}}) {
    CHECK_THROWS_AS(design_inverse(bad, 1e-3), Error);
    CHECK_THROWS_AS(design_inverse_sqrt(bad, 1e-3), Error);
  }
  for (const double error : {0.0, -1.0, 1.0, infinity}) CHECK_THROWS_AS(design_inverse({1, 2}, error), Error);
  CHECK_REFUSED(design_inverse({1e-12, 1}, 1e-12), "narrow the interval");
}

}  // namespace
}  // namespace psm::approx
