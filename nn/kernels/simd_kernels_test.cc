#include "nn/kernels/simd_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "nn/kernels/gemm.h"

namespace psm::nn {
namespace {

const SimdKernels& kernels = simd_kernels();

// Whether it is the set that PSM_SIMD asks for.
bool as_asked() {
  const char* const asked = std::getenv("PSM_SIMD");
  return asked == nullptr || std::string_view(asked) == kernels.name;
}

TEST_CASE("the kernels are those that PSM_SIMD asks for") {
  if (!as_asked()) say_skipped(std::string(std::getenv("PSM_SIMD")) + " does not run here");
}

TEST_SUITE_BEGIN("one set" * doctest::skip(!as_asked()));

TEST_CASE("the exponential is accurate to 2^-21 and saturates where it says") {
  std::vector<float> x;
  for (double v = -86.9; v <= 88; v += 0.0137) x.push_back(static_cast<float>(v));
  std::vector<float> y(x.size());
  kernels.rows.exponentials_above(x.data(), 0, x.size(), y.data());
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double exact = std::exp(static_cast<double>(x[i]));
    worst = worse(worst, std::abs(y[i] - exact) / exact);
  }
  CHECK(worst < std::ldexp(1, -21));
  float edges[] = {-88.0f, -1000.0f, 0.0f, 1000.0f};
  kernels.rows.exponentials_above(edges, 0, 4, edges);
  CHECK(edges[0] == 0);
  CHECK(edges[1] == 0);
  CHECK(edges[2] == 1);
  CHECK(edges[3] == doctest::Approx(std::exp(88.0)));
}

uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }

// The nearest bf16 number, of two as near the one whose last bit is 0.
uint32_t nearest_bf16(float x) {
  if (std::isnan(x)) return bits_of(x) >> 16 | 0x40;
  const uint32_t below = bits_of(x) & 0xFFFF0000, left = bits_of(x) - below;
  return (left > 0x8000 || (left == 0x8000 && (below >> 16 & 1)) ? below + 0x10000 : below) >> 16;
}

TEST_CASE("numbers are rounded to bf16 to the nearest, ties to even, in both orders of pairs") {
  TrainingRandom random(6);
  std::vector<float> x = {0.0f, -0.0f, 1.0f, INFINITY, -INFINITY, NAN, 3.4e38f};
  for (uint32_t high : {0x3F80u, 0x3F81u, 0xC123u})  // between two numbers, and one bit away from that
    for (uint32_t low : {0x7FFFu, 0x8000u, 0x8001u}) x.push_back(std::bit_cast<float>(high << 16 | low));
  while (x.size() < 75) x.push_back(static_cast<float>(random.normal()));
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
    kernels.pair_bf16(rows.data(), kRow, 3, columns, pairs.data(), kRow);
    kernels.zip_bf16(rows.data(), kRow, 3, columns, zipped.data(), kRow, 0);
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

float from_bf16(uint32_t half) { return std::bit_cast<float>(half << 16); }

TEST_CASE("kernels find a row's largest value, its largest magnitude and where that is first") {
  TrainingRandom random(5);
  for (size_t n = 1; n <= 70; ++n) {
    CAPTURE(n);
    std::vector<float> x(n);
    // There are few different values, so most rows have equal ones.
    for (float& v : x) v = static_cast<float>(static_cast<int>(random.next_u64() % 9) - 4);
    const auto by_magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
    const auto first = std::max_element(x.begin(), x.end(), by_magnitude) - x.begin();
    CHECK(kernels.rows.peak(x.data(), n) == static_cast<size_t>(first));
    CHECK(kernels.rows.magnitude(x.data(), n) == std::abs(x[first]));
    CHECK(kernels.rows.highest(x.data(), n) == *std::max_element(x.begin(), x.end()));
    x[n / 2] = -INFINITY;
    CHECK(kernels.rows.peak(x.data(), n) == n / 2);
    x[n - 1] = NAN;
    CHECK(kernels.rows.peak(x.data(), n) == n - 1);
    CHECK(std::isnan(kernels.rows.magnitude(x.data(), n)));
  }
}

TEST_CASE("swish and its derivative agree with double precision at every length and slope") {
  TrainingRandom random(4);
  for (const float slope : {1.702f, 1.0f}) {
    for (size_t n : {1, 3, 16, 37}) {
      std::vector<float> z(n), y(n), g(n), grad(n, 1.0f);
      for (size_t i = 0; i < n; ++i) z[i] = static_cast<float>(4 * random.normal()), g[i] = 0.5f;
      kernels.rows.swish(slope, z.data(), y.data(), n);
      kernels.rows.swish_vjp(slope, z.data(), g.data(), grad.data(), n);
      for (size_t i = 0; i < n; ++i) {
        const double s = 1 / (1 + std::exp(-slope * z[i]));
        CHECK(y[i] == doctest::Approx(z[i] * s).epsilon(1e-5));
        CHECK(grad[i] == doctest::Approx(1 + 0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5));
      }
    }
  }
}

const RowKernels<double>& doubles = row_kernels<double>();

void check_equal(const std::vector<float>& here, const std::vector<double>& exact) {
  bool right = true;
  for (size_t i = 0; i < exact.size(); ++i)
    right = right && here[i] == doctest::Approx(exact[i]).epsilon(1e-5).scale(1);
  CHECK(right);
  CHECK(here.back() == 7);  // nothing is written behind a row
}

TEST_CASE("operations on rows agree with double precision at every length and power") {
  TrainingRandom random(7);
  for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
    CAPTURE(n);
    std::vector<float> a(n + 1, 7), b(n + 1, 7), y(n + 1, 7);
    for (size_t i = 0; i < n; ++i)
      a[i] = static_cast<float>(random.normal()), b[i] = static_cast<float>(random.normal());
    const std::vector<double> x(a.begin(), a.end() - 1), g(b.begin(), b.end() - 1);
    std::vector<double> exact(n);
    CHECK(kernels.rows.dot(a.data(), b.data(), n) ==
          doctest::Approx(doubles.dot(x.data(), g.data(), n)).epsilon(1e-5).scale(1));

    const double exponentials = doubles.exponentials_above(x.data(), 0.5, n, exact.data());
    CHECK(kernels.rows.exponentials_above(a.data(), 0.5f, n, y.data()) ==
          doctest::Approx(exponentials).epsilon(1e-5));
    check_equal(y, exact);

    doubles.softmax_vjp(x.data(), g.data(), 0.25, n, exact.data());
    kernels.rows.softmax_vjp(a.data(), b.data(), 0.25f, n, y.data());
    check_equal(y, exact);

    for (const int p : {2, 4, 6, 8, 10, 12, 14, 16}) {
      CAPTURE(p);
      const double sum = doubles.powers(x.data(), 0.5, p, n, exact.data());
      CHECK(kernels.rows.powers(a.data(), 0.5f, p, n, y.data()) == doctest::Approx(sum).epsilon(1e-5));
      CHECK(kernels.rows.powers(a.data(), 0.5f, p, n, nullptr) == doctest::Approx(sum).epsilon(1e-5));
      check_equal(y, exact);
      doubles.powers_vjp(x.data(), 0.5, p, g.data(), 0.25, 3, n, exact.data());
      kernels.rows.powers_vjp(a.data(), 0.5f, p, b.data(), 0.25f, 3, n, y.data());
      check_equal(y, exact);
    }

    kernels.rows.scale(a.data(), -2, n);
    for (size_t i = 0; i < n; ++i) exact[i] = -2 * x[i];
    check_equal(a, exact);
  }
}

TEST_CASE("norms agree with double precision at every length") {
  TrainingRandom random(8);
  const auto row = [&](size_t n) {
    std::vector<float> x(n + 1, 7);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(1 + random.normal());
    return x;
  };
  const auto exactly = [](const std::vector<float>& x) {
    return std::vector<double>(x.begin(), x.end() - 1);
  };
  for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
    CAPTURE(n);
    const auto x = row(n), dy = row(n), gamma = row(n), beta = row(n);
    const auto xd = exactly(x), dyd = exactly(dy), gammad = exactly(gamma), betad = exactly(beta);
    float mean = 0, variance = 0;
    kernels.rows.moments(x.data(), n, &mean, &variance);
    double exact_mean = 0, exact_variance = 0;
    doubles.moments(xd.data(), n, &exact_mean, &exact_variance);
    CHECK(mean == doctest::Approx(exact_mean).epsilon(1e-5).scale(1));
    CHECK(variance == doctest::Approx(exact_variance).epsilon(1e-5).scale(1));

    std::vector<float> y = row(n);
    std::vector<double> exact(n);
    for (const bool shifted : {false, true}) {
      kernels.rows.standardise(x.data(), 0.5f, 2, gamma.data(), shifted ? beta.data() : nullptr, n, y.data());
      doubles.standardise(xd.data(), 0.5, 2, gammad.data(), shifted ? betad.data() : nullptr, n,
                          exact.data());
      check_equal(y, exact);

      auto dx = row(n), dgamma = row(n), dbeta = row(n);
      auto dxd = exactly(dx), dgammad = exactly(dgamma), dbetad = exactly(dbeta);
      kernels.rows.standardise_vjp(x.data(), dy.data(), 0.5f, 2, gamma.data(), n, dx.data(), dgamma.data(),
                                   shifted ? dbeta.data() : nullptr);
      doubles.standardise_vjp(xd.data(), dyd.data(), 0.5, 2, gammad.data(), n, dxd.data(), dgammad.data(),
                              shifted ? dbetad.data() : nullptr);
      check_equal(dx, dxd);
      check_equal(dgamma, dgammad);
      check_equal(dbeta, dbetad);
    }
    auto sum = row(n);
    for (size_t i = 0; i < n; ++i) exact[i] = static_cast<double>(sum[i]) + xd[i];
    kernels.rows.accumulate(sum.data(), x.data(), n);
    check_equal(sum, exact);
  }
}

TEST_CASE("a step of AdamW is the formula's") {
  const AdamWConstants c = {
      .scale = 0.5f, .b1 = 0.9f, .b2 = 0.98f, .correct_m = 2, .correct_v = 3, .epsilon = 0.1f, .rate = 0.25f};
  constexpr size_t n = 21;
  std::vector<float> w(n + 1, 7), m = w, v = w, decay(n), g(n);
  std::vector<double> expected[3];
  for (size_t i = 0; i < n; ++i) {
    const double x = static_cast<double>(i);
    w[i] = 1, m[i] = 2, v[i] = 3, decay[i] = static_cast<float>(i % 2), g[i] = static_cast<float>(i);
    expected[0].push_back(0.9 * 2 + 0.1 * x / 2);
    expected[1].push_back(0.98 * 3 + 0.02 * x * x / 4);
    expected[2].push_back(
        1 - 0.25 * (expected[0][i] * 2 / (std::sqrt(expected[1][i] * 3) + 0.1) + static_cast<double>(i % 2)));
  }
  kernels.adamw(c, decay.data(), g.data(), n, w.data(), m.data(), v.data());
  check_equal(m, expected[0]);
  check_equal(v, expected[1]);
  check_equal(w, expected[2]);
}

std::vector<float> random_matrix(int rows, int columns, uint64_t seed) {
  TrainingRandom random(seed);
  std::vector<float> values(static_cast<size_t>(rows) * columns);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

// As a product of that precision takes a factor.
std::vector<double> rounded(const std::vector<float>& factor, Precision precision) {
  std::vector<double> values;
  for (const float x : factor)
    values.push_back(static_cast<double>(precision == Precision::kBf16 ? from_bf16(nearest_bf16(x)) : x));
  return values;
}

TEST_CASE(
    "every precision, transposition, size and scaling agrees with the double loop, and writes C alone") {
  for (auto [m, n, k] : {GemmShape{1, 1, 1},
                         {3, 5, 7},
                         {65, 33, 1100},
                         {130, 70, 17},
                         {9, 600, 20},
                         {33, 47, 65},
                         {27, 25, 40},
                         {2, 33, 20},
                         {7, 33, 20},
                         {8, 33, 20},
                         {11, 33, 20},
                         {16, 32, 64}})
    for (Precision precision : {Precision::kFp32, Precision::kBf16})
      for (Transpose ta : {Transpose::kNo, Transpose::kYes})
        for (Transpose tb : {Transpose::kNo, Transpose::kYes})
          for (auto [alpha, beta] :
               {std::pair{0.7f, 0.0f}, {0.7f, -0.5f}, {1.0f, 0.0f}, {1.0f, 1.0f}, {-2.0f, 1.0f}}) {
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            CAPTURE(beta);
            const int a_row = ta == Transpose::kNo ? k : m, b_row = tb == Transpose::kNo ? n : k;
            const int c_row = n + 3;
            const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
            auto c = random_matrix(m + 1, c_row, 3);
            std::vector<double> exact(c.begin(), c.end());
            if (beta == 0)  // what was there is not read
              for (int i = 0; i < m; ++i) std::fill_n(c.begin() + i * c_row, n, NAN);
            gemm(precision, ta, tb, {m, n, k}, alpha, {a.data(), a_row}, {b.data(), b_row}, beta, c.data(),
                 c_row);
            auto ad = rounded(a, precision), bd = rounded(b, precision), magnitude = exact;
            const auto in_doubles = [&](double scale, double scale_c, std::vector<double>& sum) {
              gemm(Precision::kFp32, ta, tb, {m, n, k}, scale, {ad.data(), a_row}, {bd.data(), b_row},
                   scale_c, sum.data(), c_row);
            };
            in_doubles(static_cast<double>(alpha), static_cast<double>(beta), exact);
            for (auto* factor : {&ad, &bd, &magnitude})
              for (double& x : *factor) x = std::abs(x);
            in_doubles(std::abs(static_cast<double>(alpha)), std::abs(static_cast<double>(beta)), magnitude);
            // Each product, each sum and each scaling rounds to 2^-24 of what it is part of, and those of the
            // unit for bf16 may be cut off at 2^-23.
            bool right = true;
            double worst = 0;
            for (size_t i = 0; i < c.size(); ++i) {
              right = right && std::abs(c[i] - exact[i]) <= std::ldexp(2.0 * k + 5, -23) * magnitude[i];
              worst = worse(worst, std::abs(c[i] - exact[i]));
            }
            CHECK(right);
            CHECK(worst < (1e-6 * k + 1e-5) * (std::abs(alpha) + std::abs(beta)));
          }
}

TEST_CASE(
    "one row may be added to all rows, in every precision and however many blocks of the depth there are") {
  for (Precision precision : {Precision::kFp32, Precision::kBf16})
    for (const int k : {3, 1100}) {
      const int m = 30, n = 45;
      const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
      const auto row = random_matrix(1, n, 3);
      std::vector<float> c(static_cast<size_t>(m) * n, NAN), expected;
      for (int i = 0; i < m; ++i) expected.insert(expected.end(), row.begin(), row.end());
      gemm_plus(precision, Transpose::kNo, Transpose::kYes, {m, n, k}, 1.0f, {a.data(), k}, {b.data(), k},
                1.0f, row.data(), 0, c.data(), n);
      gemm(precision, Transpose::kNo, Transpose::kYes, {m, n, k}, 1.0f, {a.data(), k}, {b.data(), k}, 1.0f,
           expected.data(), n);
      CHECK(c == expected);
    }
}

TEST_CASE("an element's bits do not depend on how many rows there are") {
  const int n = 77, k = 203, whole = 150;
  const auto a = random_matrix(whole, k, 1), b = random_matrix(n, k, 2);
  for (Precision precision : {Precision::kFp32, Precision::kBf16})
    for (float beta : {0.0f, 1.0f}) {
      const auto before = random_matrix(whole, n, 3);
      std::vector<float> c = before;
      gemm(precision, Transpose::kNo, Transpose::kYes, {whole, n, k}, 1.0f, {a.data(), k}, {b.data(), k},
           beta, c.data(), n);
      for (int m : {1, 15, 16, 17, 33, 64, 100}) {
        std::vector<float> part(before.begin(), before.begin() + m * n);
        gemm(precision, Transpose::kNo, Transpose::kYes, {m, n, k}, 1.0f, {a.data(), k}, {b.data(), k}, beta,
             part.data(), n);
        CHECK(std::equal(part.begin(), part.end(), c.begin()));
      }
    }
}

TEST_CASE("one thread and several give the same bits") {
  const int m = 200, n = 150, k = 1200;
  const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
  for (Precision precision : {Precision::kFp32, Precision::kBf16})
    same_for_any_threads([&] {
      std::vector<float> c(static_cast<size_t>(m) * n);
      gemm(precision, Transpose::kYes, Transpose::kYes, {m, n, k}, 1.0f, {a.data(), m}, {b.data(), k}, 0.0f,
           c.data(), n);
      return c;
    });
}

TEST_SUITE_END();

}  // namespace
}  // namespace psm::nn
