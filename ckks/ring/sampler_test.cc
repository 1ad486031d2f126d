#include "ckks/ring/sampler.h"

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "ckks/base/testing/chance.h"
#include "ckks/ring/arithmetic/primes.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

TEST_CASE("uniform residues follow the definition word by word") {
  std::vector<uint64_t> words(5120);
  chacha20_blocks({0x04030201, 5}, 7, 0, reinterpret_cast<uint8_t*>(words.data()), words.size() / 8);
  for (const double size : {0x1p24, 0x1p40, 0x1.8p49}) {  // of the last one word in sixteen is rejected
    const Modulus q(prime_near(size, 10));
    std::vector<uint64_t> values(3000);
    sample_uniform(values.data(), values.size(), q, Seed{{1, 2, 3, 4, 5}}, 7);
    const uint64_t threshold = (uint64_t{1} << 52) % q.value;
    for (size_t found = 0, next = 0; found < values.size();) {
      const uint128_t product = uint128_t{words.at(next++) % (uint64_t{1} << 52)} * q.value;
      if (static_cast<uint64_t>(product % (uint128_t{1} << 52)) < threshold) continue;
      REQUIRE(values[found++] == static_cast<uint64_t>(product >> 52));
    }
  }
}

TEST_CASE("errors have mean zero, the stated deviation and bound, and binomial tails") {
  SecureRandom random;
  constexpr size_t kCount = 1 << 18;
  const SecretVector<int32_t> errors = sample_error(kCount, random);
  double sum = 0, squares = 0, fourth = 0;
  for (int32_t e : errors) {
    REQUIRE(std::abs(e) <= kErrorBound);
    sum += e;
    squares += double{1} * e * e;
    fourth += std::pow(e, 4);
  }
  const double variance = kErrorStandardDeviation * kErrorStandardDeviation;
  CHECK(variance == doctest::Approx(kErrorCoins / 2.0));
  // Sums of so many are normal.
  CHECK(std::abs(sum / kCount) < largest_normal(1) * kErrorStandardDeviation / std::sqrt(kCount));
  CHECK(mean_square(kCount).holds(squares / kCount / variance));
  // Fourth moment of a sum of 2k centred coins: 3 variance^2 - k/4.
  const double fourth_moment = 3 * variance * variance - kErrorCoins / 4.0;
  const double scatter = std::sqrt(96.0 / kCount) * variance * variance;  // E e^8 - (E e^4)^2 = 96 variance^4
  CHECK(std::abs(fourth / kCount - fourth_moment) < largest_normal(1) * scatter);
}

TEST_CASE("dense ternary secrets take each value in a third of the places") {
  SecureRandom random;
  constexpr int kCount = 90000;
  std::array<int, 3> counts{};
  for (int32_t s : sample_ternary(kCount, random)) {
    REQUIRE(std::abs(s) <= 1);
    ++counts[s + 1];
  }
  for (int count : counts) CHECK(successes(kCount, 1.0 / 3).holds(count));
}

TEST_CASE("sparse secrets have exactly the weight asked for, everywhere in the ring, with both signs") {
  SecureRandom random;
  for (size_t n : {size_t{8}, size_t{1024}, size_t{1} << 16}) {
    for (size_t weight : {size_t{0}, size_t{1}, n / 4, n}) {
      size_t nonzero = 0;
      for (int32_t s : sample_ternary_weight(n, weight, random)) {
        REQUIRE(std::abs(s) <= 1);
        nonzero += s != 0;
      }
      REQUIRE(nonzero == weight);
    }
  }
  // Places and signs over many draws of weight 8 in 64: each place 1000 times expected, each sign half of them.
  std::array<int, 64> places{};
  int sign_sum = 0;
  for (int draw = 0; draw < 8000; ++draw) {
    const SecretVector<int32_t> secret = sample_ternary_weight(64, 8, random);
    for (size_t i = 0; i < 64; ++i) {
      places[i] += secret[i] != 0;
      sign_sum += secret[i];
    }
  }
  for (int count : places) CHECK(successes(8000, 8.0 / 64, places.size()).holds(count));
  CHECK(successes(64000, 0.5).holds((64000 + sign_sum) / 2));
}

TEST_CASE("signed values become their residues") {
  const std::vector<int32_t> values = {0, 1, -1, 21, -21, INT32_MAX, INT32_MIN};
  std::vector<uint64_t> residues(values.size());
  for (const uint64_t prime : {prime_near(0x1p40, 10), uint64_t{17}}) {
    signed_to_residues(residues.data(), values.data(), values.size(), Modulus(prime));
    const auto q = static_cast<int64_t>(prime);
    for (size_t i = 0; i < values.size(); ++i)
      CHECK(residues[i] == static_cast<uint64_t>((values[i] % q + q) % q));
  }
}

}  // namespace
}  // namespace psm::ckks
