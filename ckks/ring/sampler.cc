#include "ckks/ring/sampler.h"

#include <algorithm>
#include <array>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/secrecy.h"

namespace psm::ckks {
namespace {

// The number of ones, without the table a library may use where the processor lacks the instruction.
inline uint64_t count_ones(uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555;
  x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (x * 0x0101010101010101) >> 56;
}

// Puts the smaller of two words first, without a branch: the borrow of y - x selects.
inline void compare_exchange(uint64_t& x, uint64_t& y) {
  const uint64_t swap = 0 - static_cast<uint64_t>((uint128_t{y} - x) >> 127);
  const uint64_t difference = (x ^ y) & swap;
  x ^= difference;
  y ^= difference;
}

// Batcher's bitonic sort, in the form that always sorts upwards: the first step of each merge compares with
// the mirror image. size is a power of two.
void oblivious_sort(uint64_t* x, size_t size) {
  for (size_t merged = 2; merged <= size; merged *= 2) {
    for (size_t begin = 0; begin < size; begin += merged) {
      for (size_t i = 0; i < merged / 2; ++i) compare_exchange(x[begin + i], x[begin + merged - 1 - i]);
    }
    for (size_t distance = merged / 4; distance > 0; distance /= 2) {
      for (size_t begin = 0; begin < size; begin += 2 * distance) {
        for (size_t i = begin; i < begin + distance; ++i) compare_exchange(x[i], x[i + distance]);
      }
    }
  }
}

}  // namespace

void sample_uniform(uint64_t* out, size_t n, const Modulus& q, ChaChaStream& stream) {
  constexpr uint64_t kMask = (uint64_t{1} << 52) - 1;
  const uint64_t threshold = (uint64_t{1} << 52) % q.value;
  std::array<uint64_t, 512> words;
  for (size_t done = 0; done < n;) {
    const size_t drawn = std::min(words.size(), n - done);
    stream.fill(words.data(), drawn * sizeof(uint64_t));
    for (size_t i = 0; i < drawn; ++i) {
      const uint128_t product = uint128_t{words[i] & kMask} * q.value;
      out[done] = static_cast<uint64_t>(product >> 52);
      done += (static_cast<uint64_t>(product) & kMask) >= threshold;
    }
  }
}

SecretVector<int32_t> sample_error(size_t n, SecureRandom& random) {
  SecretVector<uint64_t> words(n);
  random.fill(words.data(), n * sizeof(uint64_t));
  SecretVector<int32_t> errors(n);
  constexpr uint64_t kCoins = (uint64_t{1} << (2 * kErrorCoins)) - 1;
  // ones(a) - ones(b) = ones(a) + ones(not b) - kErrorCoins, and not b is as random as b.
  for (size_t i = 0; i < n; ++i) {
    errors[i] = static_cast<int32_t>(count_ones(words[i] & kCoins)) - kErrorCoins;
  }
  return errors;
}

SecretVector<int32_t> sample_ternary(size_t n, SecureRandom& random) {
  SecretVector<uint64_t> words(n);
  random.fill(words.data(), n * sizeof(uint64_t));
  SecretVector<int32_t> values(n);
  for (size_t i = 0; i < n; ++i) values[i] = static_cast<int32_t>((uint128_t{words[i]} * 3) >> 64) - 1;
  return values;
}

SecretVector<int32_t> sample_ternary_weight(size_t n, size_t weight, SecureRandom& random) {
  PSM_CHECK(std::has_single_bit(n) && weight <= n, "n ", n, " weight ", weight);
  // Words of 62 random bits over a payload of two: 0 for zero, 2 and 3 for the two signs.
  SecretVector<uint64_t> words(n);
  for (;;) {
    random.fill(words.data(), n * sizeof(uint64_t));
    for (size_t i = 0; i < weight; ++i) words[i] = words[i] | 2;  // the low bit is the random sign
    for (size_t i = weight; i < n; ++i) words[i] = words[i] & ~uint64_t{3};
    oblivious_sort(words.data(), n);
    // Equal keys would be ordered by payload. That happens once in 2^31 draws; then all is drawn again, which
    // depends on the keys alone.
    bool distinct = true;
    for (size_t i = 1; i < n; ++i) distinct &= (words[i] >> 2) != (words[i - 1] >> 2);
    if (declassify(distinct)) break;
  }
  SecretVector<int32_t> values(n);
  for (size_t i = 0; i < n; ++i) {
    const int32_t nonzero = static_cast<int32_t>((words[i] >> 1) & 1);
    const int32_t sign = static_cast<int32_t>(words[i] & 1);
    values[i] = nonzero * (1 - 2 * sign);
  }
  return values;
}

void signed_to_residues(uint64_t* out, const int32_t* values, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = reduce_signed(values[i], q);
}

}  // namespace psm::ckks
