#include "nn/kernels/rounding.h"

#include <limits>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

// The nearest number of `bits` bits of significand, whose smallest steps are 2^lowest; of two as near the one
// with an even significand.
double nearest(double x, int bits, int lowest) {
  if (x == 0) return x;
  const double step = std::ldexp(1, std::max(std::ilogb(x) - bits + 1, lowest));
  return std::nearbyint(x / step) * step;  // ties to even by default
}

TEST_CASE(
    "rounding to bf16 and fp16 is to the nearest number, ties to even, over the whole of fp16's range") {
  TrainingRandom random(9);
  for (int i = 0; i < 200'000; ++i) {
    const double size = std::ldexp(1 + random.uniform(), static_cast<int>(random.next_u64() % 42) - 27);
    const auto x = static_cast<float>(random.next_u64() % 2 ? size : -size);
    if (std::fabs(x) < 65520) REQUIRE(rounded(Rounding::kFp16, x) == nearest(x, 11, -24));
    REQUIRE(rounded(Rounding::kBf16, x) == nearest(x, 8, -133));
    REQUIRE(rounded(Rounding::kNone, x) == x);
  }
  for (int half = 0; half < 2048; ++half)  // every number between two of fp16's, and both beside it
    for (const float beside : {-0x1p-24f, 0.0f, 0x1p-24f}) {
      const float x = 1 + (static_cast<float>(half) / 2 + 0.25f) / 1024 + beside;
      REQUIRE(rounded(Rounding::kFp16, x) == nearest(static_cast<double>(x), 11, -24));
    }
}

TEST_CASE("fp16 overflows to infinity and underflows to zero where IEEE 754 says, bf16 does neither") {
  CHECK(rounded(Rounding::kFp16, 65504.0f) == 65504.0f);
  CHECK(rounded(Rounding::kFp16, 65519.99f) == 65504.0f);
  CHECK(rounded(Rounding::kFp16, 65520.0f) == INFINITY);
  CHECK(rounded(Rounding::kFp16, -1e30f) == -INFINITY);
  CHECK(rounded(Rounding::kFp16, 0x1p-24f) == 0x1p-24f);
  CHECK(rounded(Rounding::kFp16, 0x1p-25f) == 0);
  CHECK(rounded(Rounding::kFp16, 0x1.8p-25f) == 0x1p-24f);
  CHECK(std::signbit(rounded(Rounding::kFp16, -0x1p-30f)));
  CHECK(rounded(Rounding::kBf16, 1e30f) == doctest::Approx(1e30f).epsilon(0x1p-8));
  CHECK(rounded(Rounding::kBf16, 1e-30f) == doctest::Approx(1e-30f).epsilon(0x1p-8));
  CHECK(rounded(Rounding::kBf16, std::numeric_limits<float>::max()) == INFINITY);
  for (const Rounding to : {Rounding::kBf16, Rounding::kFp16}) {
    CHECK(std::isnan(rounded(to, NAN)));
    CHECK(rounded(to, -INFINITY) == -INFINITY);
    std::vector<float> row = {1.0f, 1 + 0x1p-12f, -3.14159f};
    std::vector<float> each = row;
    for (float& x : each) x = rounded(to, x);
    round_row(to, row.data(), row.size());
    CHECK(row == each);
  }
}

}  // namespace
}  // namespace psm::nn
