#include "nn/kernels/simd_kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "doctest/doctest.h"
#include "nn/kernels/gemm.h"

namespace psm::nn {
namespace {

// Calls with every instruction set that this processor has.
template <typename Body>
void for_each_set(const Body& body) {
  for (const SimdSet& each : simd_sets)
    if (const SimdKernels* const set = each.kernels()) {
      CAPTURE(set->name);
      body(set);
    }
}

TEST_CASE("every instruction set's exponential is accurate to 2^-21 and saturates where it says") {
  for_each_set([&](const SimdKernels* set) {
    std::vector<float> x;
    for (double v = -86.9; v <= 88; v += 0.0137) x.push_back(static_cast<float>(v));
    std::vector<float> y(x.size());
    set->rows.exponentials_above(x.data(), 0, x.size(), y.data());
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = std::exp(static_cast<double>(x[i]));
      worst = worse(worst, std::abs(y[i] - exact) / exact);
    }
    CHECK(worst < std::ldexp(1, -21));
    float edges[] = {-88.0f, -1000.0f, 0.0f, 1000.0f};
    set->rows.exponentials_above(edges, 0, 4, edges);
    CHECK(edges[0] == 0);
    CHECK(edges[1] == 0);
    CHECK(edges[2] == 1);
    CHECK(edges[3] == doctest::Approx(std::exp(88.0)));
  });
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
  for (uint32_t high : {0x3F80u, 0x3F81u, 0xC123u})  // between two numbers, and one bit away from that
    for (uint32_t low : {0x7FFFu, 0x8000u, 0x8001u}) x.push_back(std::bit_cast<float>(high << 16 | low));
  while (x.size() < 75) x.push_back(static_cast<float>(random.normal()));
  for_each_set([&](const SimdKernels* set) {
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
      set->zip_bf16(rows.data(), kRow, 3, columns, zipped.data(), kRow, 0);
      for (size_t i = 0; i < n; ++i) {
        const uint32_t first = nearest_bf16(rows[i]), second = nearest_bf16(rows[kRow + i]);
        CHECK((pairs[i / 2] >> (i % 2 * 16) & 0xFFFF) == first);
        CHECK((pairs[kRow + i / 2] >> (i % 2 * 16) & 0xFFFF) == second);
        CHECK(zipped[i] == (first | second << 16));
        CHECK(zipped[kRow + i] == first);
      }
      // In panels: the same words, a panel's columns next to each other.
      constexpr int kWidth = 3;
      const int panels = (columns + kWidth - 1) / kWidth, panel = 2 * kWidth + 1;
      std::vector<uint32_t> cut(static_cast<size_t>(panels) * panel, 1);
      set->zip_bf16(rows.data(), kRow, 3, columns, cut.data(), kWidth, panel);
      for (int l = 0; l < 2; ++l)
        for (int i = 0; i < columns; ++i)
          CHECK(cut[i / kWidth * panel + l * kWidth + i % kWidth] == zipped[l * kRow + i]);
      // From rows that are pairs already: the same words.
      for (const int width : {2, 6, kRow}) {
        const int cuts = (columns + width - 1) / width, apart = 2 * width + 1;
        std::vector<uint32_t> rezipped(static_cast<size_t>(cuts) * apart, 1);
        set->zip_pairs(pairs.data(), kRow, 3, columns, rezipped.data(), width, apart);
        for (int l = 0; l < 2; ++l)
          for (int i = 0; i < cuts * width; ++i)
            CHECK(rezipped[i / width * apart + l * width + i % width] ==
                  (i < columns ? zipped[l * kRow + i] : 1));
      }
      if (n % 2 == 1) CHECK((pairs[n / 2] >> 16) == 0);
      CHECK(pairs[(n + 1) / 2] == 1);
      CHECK(zipped[n] == 1);
    }
  });
}

float from_bf16(uint32_t half) { return std::bit_cast<float>(half << 16); }

TEST_CASE(
    "every instruction set's tiles of bf16 pairs agree with double sums at every edge, and scale and add as "
    "asked") {
  TrainingRandom random(7);
  for_each_set([&](const SimdKernels* set) {
    const int padding = set->bf16_padding, width = set->bf16_tile_columns;
    for (int steps : {padding, 2 * padding, 9 * padding}) {
      const int all_rows = (set->bf16_tile_rows + padding - 1) / padding * padding;
      std::vector<uint32_t> a(static_cast<size_t>(all_rows) * steps),
          panel(static_cast<size_t>(steps) * width);
      for (std::vector<uint32_t>* pairs : {&a, &panel})
        for (uint32_t& pair : *pairs)
          pair = nearest_bf16(static_cast<float>(random.normal())) |
                 nearest_bf16(static_cast<float>(random.normal())) << 16;
      for (int rows = 1; rows <= set->bf16_tile_rows; rows += rows < 3 ? 1 : 5)
        for (int columns = 1; columns <= width; columns += columns < 3 ? 1 : 6)
          for (auto [alpha, beta] :
               {std::pair{1.0f, 0.0f}, {1.0f, 1.0f}, {0.25f, 0.0f}, {-2.0f, 1.0f}, {1.0f, 0.5f}}) {
            CAPTURE(rows);
            CAPTURE(columns);
            const int c_row = width + 3;
            std::vector<float> d(static_cast<size_t>(c_row) * (rows + 1)), c(d.size(), 7.0f);
            for (float& x : d) x = static_cast<float>(random.normal());
            set->tile_bf16(rows, columns, steps, alpha, a.data(), steps, 1, panel.data(), beta,
                           beta == 0 ? nullptr : d.data(), c_row, c.data(), c_row);
            bool right = true, untouched = true;
            for (int i = 0; i <= rows; ++i)
              for (int j = 0; j < c_row; ++j) {
                const size_t place = static_cast<size_t>(i) * c_row + j;
                if (i == rows || j >= columns) {
                  untouched = untouched && c[place] == 7.0f;
                  continue;
                }
                double sum = 0, magnitude = 0;
                for (int l = 0; l < steps; ++l)
                  for (int half : {0, 16}) {
                    const double product =
                        static_cast<double>(from_bf16(a[i * steps + l] >> half & 0xFFFF)) *
                        static_cast<double>(from_bf16(panel[l * width + j] >> half & 0xFFFF));
                    sum += product, magnitude += std::abs(product);
                  }
                const double added = static_cast<double>(beta) * static_cast<double>(d[place]);
                // Products of bf16 numbers are exact in fp32; each of the 2 steps sums, the scaling and the last
                // sum round to 2^-24 of what they are part of, and those of the unit may be cut off at 2^-23.
                const double bound = std::ldexp(2.0 * steps + 3, -23) *
                                     (std::abs(static_cast<double>(alpha)) * magnitude + std::abs(added));
                right = right && std::abs(c[place] - (static_cast<double>(alpha) * sum + added)) <= bound;
              }
            CHECK(right);
            CHECK(untouched);
          }
    }
  });
}

TEST_CASE("every instruction set cuts rows into panels") {
  for_each_set([&](const SimdKernels* set) {
    for (const int rows : {1, 2, 37})
      for (const int columns : {1, 15, 16, 33, 100})
        for (const int width : {1, 5, 32, 72}) {
          CAPTURE(columns);
          CAPTURE(width);
          const int x_row = columns + 3, panels = (columns + width - 1) / width, panel = rows * width + 2;
          std::vector<uint32_t> x(static_cast<size_t>(rows) * x_row);
          for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(i);
          constexpr uint32_t kBefore = 0xFFFFFFFF;
          std::vector<uint32_t> copies(static_cast<size_t>(panels) * panel, kBefore), expected = copies;
          for (int l = 0; l < rows; ++l)
            for (int i = 0; i < columns; ++i)
              expected[i / width * panel + l * width + i % width] = x[l * x_row + i];
          set->copy_panels(x.data(), x_row, rows, columns, copies.data(), width, panel);
          CHECK(copies == expected);
        }
  });
}

TEST_CASE("every instruction set transposes") {
  for_each_set([&](const SimdKernels* set) {
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
  });
}

TEST_CASE(
    "every instruction set finds a row's largest value, its largest magnitude and where that is first") {
  TrainingRandom random(5);
  for_each_set([&](const SimdKernels* set) {
    for (size_t n = 1; n <= 70; ++n) {
      CAPTURE(n);
      std::vector<float> x(n);
      // There are few different values, so most rows have equal ones.
      for (float& v : x) v = static_cast<float>(static_cast<int>(random.next_u64() % 9) - 4);
      const auto by_magnitude = [](float a, float b) { return std::abs(a) < std::abs(b); };
      const auto first = std::max_element(x.begin(), x.end(), by_magnitude) - x.begin();
      CHECK(set->rows.peak(x.data(), n) == static_cast<size_t>(first));
      CHECK(set->rows.magnitude(x.data(), n) == std::abs(x[first]));
      CHECK(set->rows.highest(x.data(), n) == *std::max_element(x.begin(), x.end()));
      x[n / 2] = -INFINITY;
      CHECK(set->rows.peak(x.data(), n) == n / 2);
      x[n - 1] = NAN;
      CHECK(set->rows.peak(x.data(), n) == n - 1);
      CHECK(std::isnan(set->rows.magnitude(x.data(), n)));
    }
  });
}

TEST_CASE(
    "every instruction set's swish and its derivative agree with double precision at every length and "
    "slope") {
  TrainingRandom random(4);
  for_each_set([&](const SimdKernels* set) {
    for (const float slope : {1.702f, 1.0f}) {
      for (size_t n : {1, 3, 16, 37}) {
        std::vector<float> z(n), y(n), g(n), grad(n, 1.0f);
        for (size_t i = 0; i < n; ++i) z[i] = static_cast<float>(4 * random.normal()), g[i] = 0.5f;
        set->rows.swish(slope, z.data(), y.data(), n);
        std::vector<float> alone(n, NAN);
        set->rows.swish_vjp(slope, z.data(), g.data(), true, grad.data(), n);
        set->rows.swish_vjp(slope, z.data(), g.data(), false, alone.data(), n);
        for (size_t i = 0; i < n; ++i) {
          const double s = 1 / (1 + std::exp(-slope * z[i]));
          CHECK(y[i] == doctest::Approx(z[i] * s).epsilon(1e-5));
          CHECK(grad[i] == doctest::Approx(1 + 0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5));
          CHECK(alone[i] == doctest::Approx(0.5 * (s + slope * z[i] * s * (1 - s))).epsilon(1e-5).scale(0.1));
        }
      }
    }
  });
}

const RowKernels<double>& doubles = row_kernels<double>();

void check_equal(const std::vector<float>& here, const std::vector<double>& exact) {
  bool right = true;
  for (size_t i = 0; i < exact.size(); ++i)
    right = right && here[i] == doctest::Approx(exact[i]).epsilon(1e-5).scale(1);
  CHECK(right);
  CHECK(here.back() == 7);  // nothing is written behind a row
}

TEST_CASE("every instruction set's rows agree with double precision at every length and power") {
  TrainingRandom random(7);
  for_each_set([&](const SimdKernels* set) {
    for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
      CAPTURE(n);
      std::vector<float> a(n + 1, 7), b(n + 1, 7), y(n + 1, 7);
      for (size_t i = 0; i < n; ++i)
        a[i] = static_cast<float>(random.normal()), b[i] = static_cast<float>(random.normal());
      const std::vector<double> x(a.begin(), a.end() - 1), g(b.begin(), b.end() - 1);
      std::vector<double> exact(n);
      CHECK(set->rows.dot(a.data(), b.data(), n) ==
            doctest::Approx(doubles.dot(x.data(), g.data(), n)).epsilon(1e-5).scale(1));

      const double exponentials = doubles.exponentials_above(x.data(), 0.5, n, exact.data());
      CHECK(set->rows.exponentials_above(a.data(), 0.5f, n, y.data()) ==
            doctest::Approx(exponentials).epsilon(1e-5));
      check_equal(y, exact);

      doubles.softmax_vjp(x.data(), g.data(), 0.25, n, exact.data());
      set->rows.softmax_vjp(a.data(), b.data(), 0.25f, n, y.data());
      check_equal(y, exact);

      for (const int p : {2, 4, 6, 8, 10, 12, 14, 16}) {
        CAPTURE(p);
        const double sum = doubles.powers(x.data(), 0.5, p, n, exact.data());
        CHECK(set->rows.powers(a.data(), 0.5f, p, n, y.data()) == doctest::Approx(sum).epsilon(1e-5));
        CHECK(set->rows.powers(a.data(), 0.5f, p, n, nullptr) == doctest::Approx(sum).epsilon(1e-5));
        check_equal(y, exact);
        doubles.powers_vjp(x.data(), 0.5, p, g.data(), 0.25, 3, n, exact.data());
        set->rows.powers_vjp(a.data(), 0.5f, p, b.data(), 0.25f, 3, n, y.data());
        check_equal(y, exact);
      }

      set->rows.scale(a.data(), -2, n);
      for (size_t i = 0; i < n; ++i) exact[i] = -2 * x[i];
      check_equal(a, exact);
    }
  });
}

TEST_CASE("every instruction set's norms agree with double precision at every length") {
  TrainingRandom random(8);
  const auto row = [&](size_t n) {
    std::vector<float> x(n + 1, 7);
    for (size_t i = 0; i < n; ++i) x[i] = static_cast<float>(1 + random.normal());
    return x;
  };
  const auto exactly = [](const std::vector<float>& x) {
    return std::vector<double>(x.begin(), x.end() - 1);
  };
  for_each_set([&](const SimdKernels* set) {
    for (size_t n : {1, 3, 16, 17, 32, 61, 128}) {
      CAPTURE(n);
      const auto x = row(n), dy = row(n), gamma = row(n), beta = row(n);
      const auto xd = exactly(x), dyd = exactly(dy), gammad = exactly(gamma), betad = exactly(beta);
      float mean = 0, variance = 0;
      set->rows.moments(x.data(), n, &mean, &variance);
      double exact_mean = 0, exact_variance = 0;
      doubles.moments(xd.data(), n, &exact_mean, &exact_variance);
      CHECK(mean == doctest::Approx(exact_mean).epsilon(1e-5).scale(1));
      CHECK(variance == doctest::Approx(exact_variance).epsilon(1e-5).scale(1));

      std::vector<float> y = row(n);
      std::vector<double> exact(n);
      for (const bool shifted : {false, true}) {
        set->rows.standardise(x.data(), 0.5f, 2, gamma.data(), shifted ? beta.data() : nullptr, n, y.data());
        doubles.standardise(xd.data(), 0.5, 2, gammad.data(), shifted ? betad.data() : nullptr, n,
                            exact.data());
        check_equal(y, exact);

        auto dx = row(n), dgamma = row(n), dbeta = row(n);
        auto dxd = exactly(dx), dgammad = exactly(dgamma), dbetad = exactly(dbeta);
        set->rows.standardise_vjp(x.data(), dy.data(), 0.5f, 2, gamma.data(), n, dx.data(), dgamma.data(),
                                  shifted ? dbeta.data() : nullptr);
        doubles.standardise_vjp(xd.data(), dyd.data(), 0.5, 2, gammad.data(), n, dxd.data(), dgammad.data(),
                                shifted ? dbetad.data() : nullptr);
        check_equal(dx, dxd);
        check_equal(dgamma, dgammad);
        check_equal(dbeta, dbetad);
      }
      auto sum = row(n);
      for (size_t i = 0; i < n; ++i) exact[i] = static_cast<double>(sum[i]) + xd[i];
      set->rows.accumulate(sum.data(), x.data(), n);
      check_equal(sum, exact);
    }
  });
}

TEST_CASE("every instruction set's step of AdamW is the formula's") {
  const AdamWConstants c = {
      .scale = 0.5f, .b1 = 0.9f, .b2 = 0.98f, .correct_m = 2, .correct_v = 3, .epsilon = 0.1f, .rate = 0.25f};
  for_each_set([&](const SimdKernels* set) {
    constexpr size_t n = 21;
    std::vector<float> w(n + 1, 7), m = w, v = w, decay(n), g(n);
    std::vector<double> expected[3];
    for (size_t i = 0; i < n; ++i) {
      const double x = static_cast<double>(i);
      w[i] = 1, m[i] = 2, v[i] = 3, decay[i] = static_cast<float>(i % 2), g[i] = static_cast<float>(i);
      expected[0].push_back(0.9 * 2 + 0.1 * x / 2);
      expected[1].push_back(0.98 * 3 + 0.02 * x * x / 4);
      expected[2].push_back(1 - 0.25 * (expected[0][i] * 2 / (std::sqrt(expected[1][i] * 3) + 0.1) +
                                        static_cast<double>(i % 2)));
    }
    set->adamw(c, decay.data(), g.data(), n, w.data(), m.data(), v.data());
    check_equal(m, expected[0]);
    check_equal(v, expected[1]);
    check_equal(w, expected[2]);
  });
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

TEST_CASE("every precision, transposition, size and beta agrees with the double loop") {
  for (auto [m, n, k] : {GemmShape{1, 1, 1},
                         {3, 5, 7},
                         {65, 33, 1100},
                         {130, 70, 17},
                         {9, 600, 20},
                         {33, 47, 65},
                         {16, 32, 64}})
    for (Precision precision : {Precision::kFp32, Precision::kBf16})
      for (Transpose ta : {Transpose::kNo, Transpose::kYes})
        for (Transpose tb : {Transpose::kNo, Transpose::kYes})
          for (float beta : {0.0f, 1.0f, -0.5f}) {
            CAPTURE(m);
            CAPTURE(n);
            CAPTURE(k);
            const int a_row = ta == Transpose::kNo ? k : m, b_row = tb == Transpose::kNo ? n : k;
            const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
            auto c = random_matrix(m, n, 3);
            std::vector<double> cd(c.begin(), c.end());
            gemm(precision, ta, tb, {m, n, k}, 0.7f, {a.data(), a_row}, {b.data(), b_row}, beta, c.data(), n);
            gemm(Precision::kFp32, ta, tb, {m, n, k}, static_cast<double>(0.7f),
                 {rounded(a, precision).data(), a_row}, {rounded(b, precision).data(), b_row},
                 static_cast<double>(beta), cd.data(), n);
            double worst = 0;
            for (size_t i = 0; i < c.size(); ++i) worst = worse(worst, std::abs(c[i] - cd[i]));
            CHECK(worst < 1e-6 * k + 1e-5);
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

TEST_CASE("factors that are rounded already give the same bits, at every transposition and size") {
  const auto copied = [](const std::vector<float>& x, int rows, int columns, GrowingBuffer& memory) {
    return bf16_copy(x.data(), rows, columns, memory.at_least<uint32_t>(bf16_copy_words(rows, columns)));
  };
  for (auto [m, n, k] :
       {GemmShape{1, 1, 1}, {5, 1, 9}, {65, 33, 1100}, {131, 70, 17}, {9, 601, 20}, {48, 64, 2048}})
    for (Transpose ta : {Transpose::kNo, Transpose::kYes})
      for (Transpose tb : {Transpose::kNo, Transpose::kYes}) {
        CAPTURE(m);
        CAPTURE(n);
        CAPTURE(k);
        const bool a_turned = ta == Transpose::kYes, b_turned = tb == Transpose::kYes;
        const int a_row = a_turned ? m : k, b_row = b_turned ? k : n;
        const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
        const auto product = [&](Precision precision, Bf16Copy of_a, Bf16Copy of_b) {
          std::vector<float> c(static_cast<size_t>(m) * n);
          gemm(precision, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row, of_a}, {b.data(), b_row, of_b}, 0.0f,
               c.data(), n);
          return c;
        };
        GrowingBuffer a_memory, b_memory;
        const Bf16Copy a_copy = copied(a, a_turned ? k : m, a_row, a_memory),
                       b_copy = copied(b, b_turned ? n : k, b_row, b_memory);
        const std::vector<float> expected = product(Precision::kBf16, {}, {});
        CHECK(product(Precision::kBf16, a_copy, {}) == expected);
        CHECK(product(Precision::kBf16, {}, b_copy) == expected);
        CHECK(product(Precision::kFp32, a_copy, b_copy) == product(Precision::kFp32, {}, {}));
      }
}

TEST_CASE("beta zero does not read what was there") {
  std::vector<float> a = {1, 2}, b = {3, 4}, c = {std::nanf("")};
  gemm(Precision::kFp32, Transpose::kNo, Transpose::kNo, {1, 1, 2}, 1.0f, {a.data(), 2}, {b.data(), 1}, 0.0f,
       c.data(), 1);
  CHECK(c[0] == 11);
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
  const int m = 200, n = 150, k = 1200, before = thread_count();
  const auto a = random_matrix(m, k, 1), b = random_matrix(n, k, 2);
  for (Precision precision : {Precision::kFp32, Precision::kBf16}) {
    std::vector<float> results[3];
    for (int threads = 1; threads <= 3; ++threads) {
      set_thread_count(threads);
      results[threads - 1].resize(static_cast<size_t>(m) * n);
      gemm(precision, Transpose::kYes, Transpose::kYes, {m, n, k}, 1.0f, {a.data(), m}, {b.data(), k}, 0.0f,
           results[threads - 1].data(), n);
    }
    CHECK(results[0] == results[1]);
    CHECK(results[0] == results[2]);
  }
  set_thread_count(before);
}

}  // namespace
}  // namespace psm::nn
