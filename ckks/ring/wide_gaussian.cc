#include "ckks/ring/wide_gaussian.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/random.h"

namespace psm::ckks {
namespace wide_gaussian_internal {
namespace {

constexpr int kEntries = 424;
constexpr uint128_t kOne = uint128_t{1} << 127;

// a b / 2^127, rounded down; a, b <= 2^127.
uint128_t multiply(uint128_t a, uint128_t b) {
  constexpr uint128_t kLow = ~uint64_t{0};
  const uint128_t low = (a & kLow) * (b & kLow), cross1 = (a >> 64) * (b & kLow),
                  cross2 = (a & kLow) * (b >> 64);
  const uint128_t middle = (low >> 64) + (cross1 & kLow) + (cross2 & kLow);
  const uint128_t high = (a >> 64) * (b >> 64) + (cross1 >> 64) + (cross2 >> 64) + (middle >> 64);
  return high << 1 | (middle >> 63 & 1);
}

// floor(2^127 a / b); a < b < 2^128.
uint128_t divide(uint128_t a, uint128_t b) {
  uint128_t quotient = 0;
  for (int bit = 0; bit < 127; ++bit) {
    const bool carry = a >> 127;
    a <<= 1;
    quotient <<= 1;
    if (carry || a >= b) {
      a -= b;
      quotient |= 1;
    }
  }
  return quotient;
}

std::vector<uint128_t> make_table() {
  const uint128_t t = kOne - (kOne >> 11), t_squared = multiply(t, t);
  // rho(k + 1) = rho(k) t^(2k+1). Sums in units of 2^-121: the whole is about 80.
  std::vector<uint128_t> sums;
  uint128_t rho = kOne, step = t, sum = kOne >> 6;
  for (int k = 0; k < kEntries; ++k) {
    sums.push_back(sum);
    rho = multiply(rho, step);
    step = multiply(step, t_squared);
    sum += rho >> 5;  // k and -k
  }
  std::vector<uint128_t> table;
  for (int k = 0; k + 1 < kEntries; ++k) table.push_back(divide(sums[k], sums.back()));
  table.push_back(kOne);
  return table;
}

}  // namespace

const std::vector<uint128_t>& base_table() {
  static const std::vector<uint128_t> table = make_table();
  return table;
}

}  // namespace wide_gaussian_internal

using wide_gaussian_internal::kBaseDeviation;

WideGaussian::WideGaussian(double deviation) {
  if (!(deviation >= 0) || deviation > kMaxDeviation) {
    throw Error(message("noise of deviation 2^", std::log2(deviation), " was asked for; at most 2^",
                        std::log2(kMaxDeviation), " is possible"));
  }
  double variance = 0;
  for (int128_t power = 1;; power *= 16) {
    const double reached =
        std::hypot(std::sqrt(variance), static_cast<double>(power) * wide_gaussian_internal::kBaseDeviation);
    int128_t multiplier = power;
    if (reached >= deviation) {
      const double missing =
          std::sqrt(std::max(0.0, deviation * deviation - variance)) / wide_gaussian_internal::kBaseDeviation;
      multiplier = std::min(power, static_cast<int128_t>(std::ceil(missing * (1 + 0x1p-50))));
      multiplier = std::max(multiplier, int128_t{1});
    }
    multipliers_.push_back(multiplier);
    const double part = static_cast<double>(multiplier) * wide_gaussian_internal::kBaseDeviation;
    variance += part * part;
    if (reached >= deviation) break;
  }
  deviation_ = std::sqrt(variance);
}

SecretVector<int128_t> WideGaussian::sample(size_t n) const {
  const std::vector<uint128_t>& table = wide_gaussian_internal::base_table();
  SecretVector<int128_t> out(n);
  constexpr size_t kBlock = 1024;
  parallel_for(0, (n + kBlock - 1) / kBlock, [&](size_t block) {
    SecureRandom random;
    const size_t begin = block * kBlock, count = std::min(kBlock, n - begin);
    SecretVector<uint128_t> words(count);
    for (const int128_t multiplier : multipliers_) {
      random.fill(words.data(), count * sizeof(uint128_t));
      for (size_t i = 0; i < count; ++i) {
        const uint128_t uniform = words[i] >> 1;
        const int64_t sign = static_cast<int64_t>(words[i] & 1);
        int64_t magnitude =
            0;  // entries at most `uniform`; both are at most 2^127, so the top bit is the borrow
        for (const uint128_t entry : table) magnitude += static_cast<int64_t>((entry - 1 - uniform) >> 127);
        out[begin + i] += multiplier * ((magnitude ^ -sign) + sign);
      }
    }
  });
  return out;
}

void signed_to_residues(uint64_t* out, const int128_t* values, size_t n, const Modulus& q) {
  const Multiplier two_64 = make_multiplier(static_cast<uint64_t>((uint128_t{1} << 64) % q.value), q);
  for (size_t i = 0; i < n; ++i) {
    const uint64_t high = reduce_signed(static_cast<int64_t>(values[i] >> 64), q);
    out[i] = add_mod(mul_mod(high, two_64, q), reduce_mod(static_cast<uint64_t>(values[i]), q), q);
  }
}

}  // namespace psm::ckks
