#include "approx/approximation.h"

#include <optional>
#include <vector>

#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/goldschmidt_sqrt.h"
#include "approx/inverse.h"
#include "approx/maximum.h"
#include "approx/testing/testing.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE("many numbers at once give the bits of each alone, however many they are") {
  for (const Approximation& f :
       {design_gelu(6, 1e-4), design_sigmoid(6, 1e-4), design_inverse({0.2, 40}, 1e-3),
        goldschmidt_inverse({0.2, 40}, 21), design_inverse_sqrt({0.1, 9}, 1e-4), design_exp({-4, 0}, 1e-4),
        design_absolute_value(3, 1e-2)}) {
    CAPTURE(f.name());
    for (const size_t count : {0, 1, 8, 29}) {
      std::vector<double> x(count);
      for (size_t i = 0; i < count; ++i)
        x[i] = f.domain().lo + f.domain().width() * (static_cast<double>(i) + 0.3) / 29;
      std::vector<double> y = x;
      f.evaluate(std::span(y));
      for (size_t i = 0; i < count; ++i) CHECK(y[i] == f.evaluate(x[i]));
    }
  }
}

TEST_CASE("a series of up to half as many terms more than a power of two is multiplied a level earlier") {
  struct Case {
    int degree, products_depth;
  };
  for (const Case c :
       {Case{3, 3}, {4, 3}, {5, 3}, {6, 4}, {7, 4}, {8, 4}, {10, 4}, {11, 4}, {12, 5}, {20, 5}}) {
    CAPTURE(c.degree);
    const std::optional<Approximation> root = series_inverse_sqrt({1, 6}, c.degree);
    REQUIRE(root);
    REQUIRE(root->degree() == c.degree);
    CHECK(root->products_depth() == c.products_depth);
    const ProgramReport report = run_products(*root);
    CHECK(report.depth == c.products_depth);
    CHECK(report.worst_difference < 1e-13);
    CHECK(report.largest > 0.5);
  }
}

TEST_CASE("what is no single series is multiplied when it is done") {
  const Approximation inverse = design_inverse({0.2, 40}, 1e-3);
  CHECK(inverse.products_depth() == inverse.depth() + 1);
  const ProgramReport report = run_products(inverse);
  CHECK(report.depth == inverse.products_depth());
  CHECK(report.worst_difference < 1e-13);
}

}  // namespace
}  // namespace psm::approx
