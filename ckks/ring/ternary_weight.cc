#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/secrecy.h"
#include "ckks/ring/sampler.h"

namespace psm::ckks {
namespace {

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

}  // namespace psm::ckks
