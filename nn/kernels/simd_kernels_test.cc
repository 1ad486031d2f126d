#include "nn/kernels/simd_kernels.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

std::vector<const SimdKernels*> available() {
  std::vector<const SimdKernels*> sets = {&simd_kernels_scalar()};
  for (const SimdKernels* set : {simd_kernels_avx2(), simd_kernels_avx512()})
    if (set) sets.push_back(set);
  return sets;
}

TEST_CASE("every instruction set's exponential is accurate to 2^-21 and saturates where it says") {
  for (const SimdKernels* set : available()) {
    CAPTURE(set->name);
    std::vector<float> x;
    for (double v = -86.9; v <= 88; v += 0.0137) x.push_back(static_cast<float>(v));
    std::vector<float> y = x;
    set->exponentials(y.data(), y.size());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      worst = std::max(worst, std::abs(y[i] - exact) / exact);
    }
    CHECK(worst < std::ldexp(1, -21));
    float edges[] = {-88.0f, -1000.0f, 0.0f, 1000.0f};
    set->exponentials(edges, 4);
    CHECK(edges[0] == 0);
    CHECK(edges[1] == 0);
    CHECK(edges[2] == 1);
    CHECK(edges[3] == doctest::Approx(std::exp(88.0)));
  }
}

TEST_CASE("every instruction set finds a row's largest value and the first of its largest magnitudes") {
  TrainingRandom random(5);
  for (const SimdKernels* set : available()) {
    CAPTURE(set->name);
    for (size_t n = 1; n <= 70; ++n) {
      CAPTURE(n);
      std::vector<float> x(n);
      // Of few values, so that most rows have equal ones.
      for (float& v : x) v = static_cast<float>(static_cast<int>(random.next_u64() % 9) - 4);
      const auto by_magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
      const auto first = std::max_element(x.begin(), x.end(), by_magnitude) - x.begin();
      CHECK(set->peak(x.data(), n) == static_cast<size_t>(first));
      CHECK(set->highest(x.data(), n) == *std::max_element(x.begin(), x.end()));
      x[n / 2] = -INFINITY;
      CHECK(set->peak(x.data(), n) == n / 2);
      x[n - 1] = NAN;
      CHECK(set->peak(x.data(), n) == n - 1);
    }
  }
}

TEST_CASE(
    "every instruction set's swish and its derivative agree with double precision at every length and "
    "slope") {
  TrainingRandom random(4);
  for (const SimdKernels* set : available())
    for (const float slope : {1.702f, 1.0f}) {
      CAPTURE(set->name);
      for (size_t n : {1, 3, 16, 37}) {
        std::vector<float> z(n), y(n), g(n), grad(n, 1.0f);
        for (size_t i = 0; i < n; ++i) z[i] = static_cast<float>(4 * random.normal()), g[i] = 0.5f;
        set->swish(slope, z.data(), y.data(), n);
        set->swish_vjp(slope, z.data(), g.data(), grad.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const double s = 1 / (1 + std::exp(-slope * z[i]));
          CHECK(y[i] == doctest::Approx(z[i] * s).epsilon(1e-5));
          CHECK(grad[i] == doctest::Approx(1 + 0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5));
        }
      }
    }
}

}  // namespace
}  // namespace psm::nn
