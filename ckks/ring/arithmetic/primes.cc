#include "ckks/ring/arithmetic/primes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {
namespace {

// n - 1 = odd * 2^twos; whether `base` < n shows that n is composite.
bool is_witness(uint64_t base, const Modulus& n, uint64_t odd, int twos) {
  uint64_t x = pow_mod(base, odd, n);
  if (x == 1 || x == n.value - 1) return false;
  for (int i = 1; i < twos; ++i) {
    x = mul_mod(x, x, n);
    if (x == n.value - 1) return false;
  }
  return true;
}

}  // namespace

bool is_prime(uint64_t n) {
  constexpr uint64_t kBases[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (n < 2) return false;
  for (uint64_t p : kBases) {
    if (n % p == 0) return n == p;
  }
  const Modulus m(n);  // n is odd, and larger than every base
  const int twos = std::countr_zero(n - 1);
  const uint64_t odd = (n - 1) >> twos;
  return std::none_of(std::begin(kBases), std::end(kBases),
                      [&](uint64_t base) { return is_witness(base, m, odd, twos); });
}

uint64_t prime_near(double target, int log_n, const std::vector<uint64_t>& excluded) {
  PSM_CHECK(target > 0 && log_n >= 1 && log_n < 30, "target ", target, " log_n ", log_n);
  const uint64_t step = uint64_t{2} << log_n;
  const uint64_t limit = uint64_t{1} << kMaxModulusBits;
  const auto usable = [&](uint64_t q) {
    return q > step && q < limit && is_prime(q) &&
           std::find(excluded.begin(), excluded.end(), q) == excluded.end();
  };
  const auto apart = [&](uint64_t q) { return std::abs(static_cast<double>(q) - target); };
  // Candidates c * step + 1, outwards from the target.
  const uint64_t center = static_cast<uint64_t>(target / static_cast<double>(step));
  for (uint64_t distance = 0; distance <= center / 2 + 1; ++distance) {
    uint64_t nearer = (center + distance) * step + 1;
    uint64_t other = distance <= center ? (center - distance) * step + 1 : 0;
    if (apart(other) <= apart(nearer)) std::swap(nearer, other);
    if (usable(nearer)) return nearer;
    if (usable(other)) return other;
  }
  throw Error(message("no unused prime = 1 mod ", step, " below 2^", kMaxModulusBits, " lies near ", target,
                      "; use fewer primes or another size"));
}

}  // namespace psm::ckks
