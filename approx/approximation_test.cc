#include "approx/approximation.h"

#include <vector>

#include "approx/absolute_value.h"
#include "approx/activation.h"
#include "approx/exponential.h"
#include "approx/goldschmidt.h"
#include "approx/goldschmidt_sqrt.h"
#include "approx/inverse.h"
#include "doctest/doctest.h"

namespace psm::approx {
namespace {

TEST_CASE("many numbers at once give the bits of each alone, however many they are") {
  for (const Approximation& f :
       {design_activation(Activation::kGelu, 6, 1e-4), design_activation(Activation::kSigmoid, 6, 1e-4),
        design_inverse({0.2, 40}, 1e-3), goldschmidt_inverse({0.2, 40}, 21),
        design_inverse_sqrt({0.1, 9}, 1e-4), design_exp({-4, 0}, 1e-4), design_absolute_value(3, 1e-2)}) {
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

}  // namespace
}  // namespace psm::approx
