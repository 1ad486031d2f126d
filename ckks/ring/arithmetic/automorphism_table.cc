#include <map>
#include <mutex>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/ring/arithmetic/ntt.h"

namespace psm::ckks {
namespace {

// base^exponent modulo 2N; 2N is a power of two, so wrapping arithmetic and a mask do.
uint64_t pow_two_n(uint64_t base, uint64_t exponent, int log_n) {
  uint64_t result = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if (exponent & 1) result *= base;
  }
  return result & ((uint64_t{2} << log_n) - 1);
}

}  // namespace

GaloisElement rotation_element(int64_t k, int log_n) {
  const uint64_t slots = uint64_t{1} << (log_n - 1);  // the order of 5 modulo 2N
  return pow_two_n(5, static_cast<uint64_t>(k) & (slots - 1), log_n);
}

GaloisElement inverse_element(GaloisElement g, int log_n) {
  // The group has exponent N/2.
  return pow_two_n(g, (uint64_t{1} << (log_n - 1)) - 1, log_n);
}

AutomorphismTable::AutomorphismTable(GaloisElement g, int log_n) : log_n_(log_n) {
  PSM_CHECK(log_n >= 3 && log_n <= 17 && g % 2 == 1 && g < (uint64_t{2} << log_n), "g ", g, " log_n ", log_n);
  const uint64_t quarter_n = n() / 4;
  const int block_bits = log_n - 3;
  blocks_.resize(n() / 8);
  for (uint64_t j = 0; j < blocks_.size(); ++j) {
    const uint64_t exponent = g * (2 * reverse_bits(j, block_bits) + 1) & (2 * n() - 1);
    const uint64_t source = reverse_bits((exponent % quarter_n - 1) / 2, block_bits);
    const uint64_t shift = exponent / quarter_n;
    blocks_[j] = static_cast<uint32_t>(8 * source + shift);
  }
  for (uint64_t s = 0; s < 8; ++s) {
    for (uint64_t i = 0; i < 8; ++i) {
      permutations_[s][i] = reverse_bits((g * reverse_bits(i, 3) + s) & 7, 3);
    }
  }
}

std::shared_ptr<const AutomorphismTable> automorphism_table(GaloisElement g, int log_n) {
  static std::mutex mutex;
  static std::map<std::pair<GaloisElement, int>, std::shared_ptr<const AutomorphismTable>> tables;
  const std::lock_guard<std::mutex> lock(mutex);
  auto& table = tables[{g, log_n}];
  if (!table) table = std::make_shared<const AutomorphismTable>(g, log_n);
  return table;
}

}  // namespace psm::ckks
