#include "ckks/ring/sampler.h"

#include <array>
#include <bit>

namespace psm::ckks {
namespace {

// The number of ones, without the table a library may use where the processor lacks the instruction.
inline uint64_t count_ones(uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555;
  x = (x & 0x3333333333333333) + ((x >> 2) & 0x3333333333333333);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
  return (x * 0x0101010101010101) >> 56;
}

}  // namespace

void sample_uniform(uint64_t* out, size_t n, const Modulus& q, const Seed& seed, uint64_t stream) {
  constexpr uint64_t kMask = (uint64_t{1} << 52) - 1, kBlocks = 64;
  const uint64_t threshold = (uint64_t{1} << 52) % q.value;
  const auto key = std::bit_cast<std::array<uint32_t, 8>>(seed.bytes);
  std::array<uint64_t, 8 * kBlocks> words;
  size_t done = 0;
  for (uint64_t counter = 0; done < n; counter += kBlocks) {
    chacha20_blocks(key, stream, counter, reinterpret_cast<uint8_t*>(words.data()), kBlocks);
    for (size_t i = 0; i < words.size() && done < n; ++i) {
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

void signed_to_residues(uint64_t* out, const int32_t* values, size_t n, const Modulus& q) {
  for (size_t i = 0; i < n; ++i) out[i] = reduce_signed(values[i], q);
}

}  // namespace psm::ckks
