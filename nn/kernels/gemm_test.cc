#include "nn/kernels/gemm.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

std::vector<float> random_matrix(size_t count, uint64_t seed) {
  TrainingRandom random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(random.normal());
  return values;
}

float rounded_to_bf16(float x) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  return std::bit_cast<float>((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000);
}

// As a product of that precision takes a factor.
std::vector<double> rounded(const std::vector<float>& factor, Precision precision) {
  std::vector<double> values;
  for (const float x : factor)
    values.push_back(static_cast<double>(precision == Precision::kBf16 ? rounded_to_bf16(x) : x));
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
            const auto a = random_matrix(static_cast<size_t>(m) * k, 1);
            const auto b = random_matrix(static_cast<size_t>(n) * k, 2);
            auto c = random_matrix(static_cast<size_t>(m) * n, 3);
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
      const auto a = random_matrix(static_cast<size_t>(m) * k, 1),
                 b = random_matrix(static_cast<size_t>(n) * k, 2);
      const auto row = random_matrix(n, 3);
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
        const auto a = random_matrix(static_cast<size_t>(m) * k, 1);
        const auto b = random_matrix(static_cast<size_t>(n) * k, 2);
        std::vector<float> expected(static_cast<size_t>(m) * n);
        gemm(Precision::kBf16, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row}, {b.data(), b_row}, 0.0f,
             expected.data(), n);
        GrowingBuffer a_memory, b_memory;
        const Bf16Copy a_copy = copied(a, a_turned ? k : m, a_row, a_memory),
                       b_copy = copied(b, b_turned ? n : k, b_row, b_memory);
        std::vector<float> c(expected.size());
        gemm(Precision::kBf16, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row, a_copy}, {b.data(), b_row}, 0.0f,
             c.data(), n);
        CHECK(c == expected);
        gemm(Precision::kBf16, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row}, {b.data(), b_row, b_copy}, 0.0f,
             c.data(), n);
        CHECK(c == expected);
        gemm(Precision::kFp32, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row}, {b.data(), b_row}, 0.0f,
             expected.data(), n);
        gemm(Precision::kFp32, ta, tb, {m, n, k}, 1.0f, {a.data(), a_row, a_copy}, {b.data(), b_row, b_copy},
             0.0f, c.data(), n);
        CHECK(c == expected);
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
  const auto a = random_matrix(static_cast<size_t>(whole) * k, 1),
             b = random_matrix(static_cast<size_t>(n) * k, 2);
  for (Precision precision : {Precision::kFp32, Precision::kBf16})
    for (float beta : {0.0f, 1.0f}) {
      const auto before = random_matrix(static_cast<size_t>(whole) * n, 3);
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
  const auto a = random_matrix(static_cast<size_t>(m) * k, 1);
  const auto b = random_matrix(static_cast<size_t>(n) * k, 2);
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
