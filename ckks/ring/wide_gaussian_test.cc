#include "ckks/ring/wide_gaussian.h"

#include <array>
#include <cmath>
#include <numbers>

#include "ckks/base/error.h"
#include "ckks/base/testing/chance.h"
#include "ckks/ring/arithmetic/primes.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

using wide_gaussian_internal::base_table;
using wide_gaussian_internal::kBaseDeviation;

TEST_CASE(
    "the base table holds the discrete Gaussian's cumulative probabilities to the last bit of a long "
    "double") {
  const long double variance = -1 / (2 * std::log1p(-0x1p-11L));
  CHECK(std::abs(std::sqrt(variance) - wide_gaussian_internal::kBaseDeviation) < 1e-8);
  long double total = 0;
  for (int k = 500; k > 0; --k) total += 2 * std::exp(-k * k / (2 * variance));
  total += 1;
  // By Poisson's summation the sum is sigma sqrt(2 pi), up to 2 exp(-2 pi^2 sigma^2).
  CHECK(std::abs(total / std::sqrt(2 * std::numbers::pi_v<long double> * variance) - 1) < 0x1p-58L);
  long double sum = 1;
  const auto& table = wide_gaussian_internal::base_table();
  for (size_t k = 0; k < table.size(); ++k) {
    if (k > 0) sum += 2 * std::exp(-static_cast<long double>(k * k) / (2 * variance));
    const long double entry = std::ldexp(static_cast<long double>(table[k]), -127);
    REQUIRE(std::abs(entry - sum / total) < 0x1p-58L);
    if (k > 0) REQUIRE(table[k] >= table[k - 1]);
  }
  CHECK(table.back() == uint128_t{1} << 127);
  // What the table leaves out, by a geometric series.
  const long double edge = static_cast<long double>(table.size());
  const long double beyond =
      2 * std::exp(-edge * edge / (2 * variance)) / (1 - std::exp(-edge / variance)) / total;
  CHECK(beyond < 0x1p-126L);
}

TEST_CASE("the smoothing condition holds at every step, for every deviation") {
  // tau / m is least where m = 16 sigma_y / sigma_0 and sigma_y = sigma_0.
  const double ratio = 1 / std::sqrt(std::pow(16 / wide_gaussian_internal::kBaseDeviation, 2) +
                                     std::pow(1 / wide_gaussian_internal::kBaseDeviation, 2));
  CHECK(ratio > 1.995);
  CHECK(2 * std::exp(-2 * std::pow(std::numbers::pi * ratio, 2)) < 0x1p-112);
}

TEST_CASE("the deviation is what was asked for, hardly more, and never less") {
  for (double log2_deviation = 6; log2_deviation <= 118; log2_deviation += 0.37) {
    const double asked = std::exp2(log2_deviation);
    const double got = WideGaussian(asked).deviation();
    CHECK(got >= asked);
    if (asked > 1000) CHECK(got < 1.05 * asked);
  }
  CHECK_THROWS_WITH_AS(WideGaussian(0x1p119), doctest::Contains("2^119"), Error);
}

TEST_CASE("samples have mean zero, the stated deviation, normal tails, and even low digits") {
  constexpr size_t kCount = 1 << 16;
  for (const double asked : {1.0, 1000.0, 0x1p20, 0x1.7p63, 0x1p90, 0x1p118}) {
    const WideGaussian gaussian(asked);
    const double sigma = gaussian.deviation();
    const SecretVector<int128_t> x = gaussian.sample(kCount);
    double sum = 0, squares = 0, fourth = 0;
    std::array<int, 16> low{};
    int beyond = 0;
    for (const int128_t value : x) {
      const double z = static_cast<double>(value) / sigma;
      REQUIRE(std::abs(z) <= WideGaussian::kTail);
      sum += z;
      squares += z * z;
      fourth += z * z * z * z;
      beyond += std::abs(z) > 2;
      ++low[value & 15];
    }
    CAPTURE(asked);
    // The mean of the fourth powers, of variance 96, is skewed by 10 / sqrt(n): six deviations.
    CHECK(std::abs(sum) < largest_normal(1) * std::sqrt(kCount));
    CHECK(mean_square(kCount).holds(squares / kCount));
    CHECK(std::abs(fourth / kCount - 3) < 6 * std::sqrt(96.0 / kCount));
    CHECK(successes(kCount, 0.0455).holds(beyond));
    double chi_squared = 0;
    for (int count : low) chi_squared += std::pow(count - kCount / 16.0, 2) / (kCount / 16.0);
    CHECK(chi_squared < largest_chi_squared(15));
  }
}

TEST_CASE("wide signed values become their residues") {
  const Modulus q(prime_near(0x1p40, 10));
  const std::array<int128_t, 8> values = {0,
                                          1,
                                          -1,
                                          int128_t{1} << 100,
                                          -(int128_t{1} << 100),
                                          (int128_t{5} << 64) - 3,
                                          -((int128_t{5} << 64) + 3),
                                          int128_t{-7} << 70};
  std::array<uint64_t, 8> residues;
  signed_to_residues(residues.data(), values.data(), values.size(), q);
  for (size_t i = 0; i < values.size(); ++i) {
    const int128_t expected = values[i] % static_cast<int128_t>(q.value);
    CHECK(residues[i] ==
          static_cast<uint64_t>(expected < 0 ? expected + static_cast<int128_t>(q.value) : expected));
  }
}

}  // namespace
}  // namespace psm::ckks
