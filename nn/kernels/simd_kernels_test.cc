#include "nn/kernels/simd_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

std::vector<const SimdKernels*> available() {
  std::vector<const SimdKernels*> sets = {&simd_kernels_scalar()};
  for (const SimdKernels* set :
       {simd_kernels_avx2(), simd_kernels_avx512(), simd_kernels_avx512bf16(), simd_kernels_amxbf16()})
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

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

// The nearest bf16 number, of two as near the one whose last bit is 0.
uint32_t nearest_bf16(float x) {
  if (std::isnan(x)) return bits_of(x) >> 16 | 0x40;
  const uint32_t below = bits_of(x) & 0xFFFF0000, left = bits_of(x) - below;
  return (left > 0x8000 || (left == 0x8000 && (below >> 16 & 1)) ? below + 0x10000 : below) >> 16;
}

TEST_CASE("every instruction set rounds to bf16 to the nearest, ties to even, in both orders of pairs") {
  TrainingRandom random(6);
  std::vector<float> x = {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, 3.4e38f};
  for (uint32_t high : {0x3F80u, 0x3F81u, 0xC123u})  // between two numbers, and one bit beside that
    for (uint32_t low : {0x7FFFu, 0x8000u, 0x8001u}) x.push_back(std::bit_cast<float>(high << 16 | low));
  while (x.size() < 75) x.push_back(static_cast<float>(random.normal()));
  for (const SimdKernels* set : available()) {
    CAPTURE(set->name);
    for (size_t n = 1; n <= x.size(); ++n) {
      CAPTURE(n);
      const int columns = static_cast<int>(n);
      constexpr int kRow = 80;
      std::vector<float> rows(3 * kRow);  // x from its beginning, its end, its beginning again
      for (size_t i = 0; i < n; ++i) {
        rows[i] = rows[2 * kRow + i] = x[i];
        rows[kRow + i] = x[x.size() - n + i];
      }
      std::vector<uint32_t> pairs(3 * kRow, 1), zipped(2 * kRow, 1);
      set->pair_bf16(rows.data(), kRow, 3, columns, pairs.data(), kRow);
      set->zip_bf16(rows.data(), kRow, 3, columns, zipped.data(), kRow);
      for (size_t i = 0; i < n; ++i) {
        const uint32_t first = nearest_bf16(rows[i]), second = nearest_bf16(rows[kRow + i]);
        CHECK((pairs[i / 2] >> (i % 2 * 16) & 0xFFFF) == first);
        CHECK((pairs[kRow + i / 2] >> (i % 2 * 16) & 0xFFFF) == second);
        CHECK(zipped[i] == (first | second << 16));
        CHECK(zipped[kRow + i] == first);
      }
      if (n % 2 == 1) CHECK((pairs[n / 2] >> 16) == 0);
      CHECK(pairs[(n + 1) / 2] == 1);
      CHECK(zipped[n] == 1);
    }
  }
}

TEST_CASE("every instruction set transposes") {
  for (const SimdKernels* set : available()) {
    CAPTURE(set->name);
    for (auto [rows, columns] : {std::pair{1, 1}, {16, 16}, {5, 33}, {32, 17}, {35, 50}}) {
      const int x_row = columns + 3, y_row = rows + 2;
      std::vector<uint32_t> x(static_cast<size_t>(rows) * x_row), y(static_cast<size_t>(columns) * y_row, 7);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(i);
      set->transpose(x.data(), x_row, rows, columns, y.data(), y_row);
      bool right = true;
      for (int j = 0; j < columns; ++j)
        for (int i = 0; i < y_row; ++i)
          right = right && y[j * y_row + i] == (i < rows ? x[i * x_row + j] : 7);
      CHECK(right);
    }
  }
}

TEST_CASE(
    "every instruction set finds a row's largest value, its largest magnitude and where that is first") {
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
      CHECK(set->magnitude(x.data(), n) == std::abs(x[first]));
      CHECK(set->highest(x.data(), n) == *std::max_element(x.begin(), x.end()));
      x[n / 2] = -INFINITY;
      CHECK(set->peak(x.data(), n) == n / 2);
      x[n - 1] = NAN;
      CHECK(set->peak(x.data(), n) == n - 1);
      CHECK(std::isnan(set->magnitude(x.data(), n)));
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
        std::vector<float> alone(n, NAN);
        set->swish_vjp(slope, z.data(), g.data(), true, grad.data(), n);
        set->swish_vjp(slope, z.data(), g.data(), false, alone.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const double s = 1 / (1 + std::exp(-slope * z[i]));
          CHECK(y[i] == doctest::Approx(z[i] * s).epsilon(1e-5));
          CHECK(grad[i] == doctest::Approx(1 + 0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5));
          CHECK(alone[i] == doctest::Approx(0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5).scale(0.1));
        }
      }
    }
}

}  // namespace
}  // namespace psm::nn
