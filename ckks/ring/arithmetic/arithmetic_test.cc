// Arithmetic modulo one prime, primality, and the elements of the Galois group.

#include <bit>
#include <cmath>
#include <set>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/ring/arithmetic/automorphism.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/arithmetic/packing.h"
#include "ckks/ring/arithmetic/primes.h"

namespace psm::ckks {
namespace {

TEST_CASE("reductions agree with division over their whole range") {
  TrainingRandom random(1);
  for (uint64_t prime :
       {uint64_t{11}, uint64_t{12289}, uint64_t{1099511627791}, prime_near(0x1p50 - 0x1p30, 16)}) {
    const Modulus q(prime);
    for (int i = 0; i < 20000; ++i) {
      const uint128_t limit = uint128_t{prime} << 62;
      const uint128_t wide =
          i == 0 ? limit - 1 : ((uint128_t{random.next_u64()} << 64) | random.next_u64()) % limit;
      REQUIRE(reduce_wide(wide, q) == static_cast<uint64_t>(wide % prime));
      const uint64_t x = i == 0 ? ~uint64_t{0} : random.next_u64();
      REQUIRE(reduce_mod(x, q) == x % prime);
      const uint64_t w = i == 1 ? prime - 1 : random.integer(prime);
      REQUIRE(mul_mod(x, make_multiplier(w, q), q) == static_cast<uint64_t>(uint128_t{x} * w % prime));
      REQUIRE(mul_lazy(x, make_multiplier(w, q), q) < 2 * prime);
      const int64_t s = static_cast<int64_t>(x);
      const __int128 expected = ((__int128{s} % prime) + prime) % prime;
      REQUIRE(reduce_signed(s, q) == static_cast<uint64_t>(expected));
    }
    CHECK(reduce_signed(INT64_MIN, q) == (prime - (uint64_t{1} << 63) % prime) % prime);
  }
}

TEST_CASE("primality agrees with a sieve, with strong pseudoprimes and with known primes") {
  constexpr size_t kLimit = 20000;
  std::vector<bool> composite(kLimit, false);
  for (size_t p = 2; p < kLimit; ++p) {
    REQUIRE(is_prime(p) == !composite[p]);
    for (size_t multiple = 2 * p; multiple < kLimit; multiple += p) composite[multiple] = true;
  }
  CHECK_FALSE(is_prime(0));
  CHECK_FALSE(is_prime(1));
  CHECK_FALSE(is_prime(3215031751));       // a strong pseudoprime to the bases 2, 3, 5, 7
  CHECK_FALSE(is_prime(341550071728321));  // and to the first eight primes
  CHECK(is_prime((uint64_t{1} << 50) - 27));
}

TEST_CASE("primes for the transform are the nearest of their form, distinct, and never beyond 50 bits") {
  std::vector<uint64_t> primes;
  for (int i = 0; i < 30; ++i) primes.push_back(prime_near(0x1p40, 16, primes));
  CHECK(std::set<uint64_t>(primes.begin(), primes.end()).size() == 30);
  for (uint64_t q : primes) {
    CHECK(is_prime(q));
    CHECK(q % (uint64_t{1} << 17) == 1);
  }
  // Brute force: no prime of the form lies nearer to the target.
  const double target = 1.3e9;
  const uint64_t nearest = prime_near(target, 10);
  const double distance = std::abs(static_cast<double>(nearest) - target);
  for (uint64_t q = 2049; q < uint64_t{1400000000}; q += 2048) {
    if (std::abs(static_cast<double>(q) - target) < distance) REQUIRE_FALSE(is_prime(q));
  }
  CHECK(prime_near(0x1p50, 16) < (uint64_t{1} << 50));
  CHECK(prime_near(target, 10, {nearest}) != nearest);
  CHECK_REFUSED(prime_near(100, 16), "no unused prime = 1 mod 131072");
}

TEST_CASE("rotation elements add up, wrap, and are undone by their inverses") {
  for (int log_n : {4, 10, 16}) {
    const uint64_t two_n = uint64_t{2} << log_n;
    const int64_t slots = int64_t{1} << (log_n - 1);
    CHECK(rotation_element(0, log_n) == 1);
    CHECK(rotation_element(1, log_n) == 5);
    CHECK(rotation_element(slots, log_n) == 1);
    CHECK(rotation_element(-1, log_n) == rotation_element(slots - 1, log_n));
    CHECK(rotation_element(3, log_n) * rotation_element(4, log_n) % two_n == rotation_element(7, log_n));
    for (GaloisElement g : {rotation_element(5, log_n), (GaloisElement{2} << log_n) - 1, GaloisElement{3}}) {
      CHECK(g * inverse_element(g, log_n) % two_n == 1);
    }
    CHECK(automorphism_table(5, log_n) == automorphism_table(5, log_n));
  }
}

std::vector<uint64_t> residues_below(uint64_t q, size_t n) {
  TrainingRandom random(3);
  std::vector<uint64_t> out(n);
  for (auto& r : out) r = random.integer(q);
  out[0] = 0, out[1] = q - 1;
  return out;
}

TEST_CASE("packed residues come back as they were, in as many bits as the prime has") {
  for (uint64_t q : {uint64_t{3}, uint64_t{257}, (uint64_t{1} << 40) - 87, (uint64_t{1} << 50) - 27,
                     (uint64_t{1} << 57) - 13}) {
    const size_t n = 64;
    const auto residues = residues_below(q, n);
    std::vector<uint8_t> bytes(packed_bytes(n, q) + 1, 0xa5);
    pack_residues(bytes.data(), residues.data(), n, q);
    CHECK(bytes.back() == 0xa5);
    CHECK(packed_bytes(n, q) * 8 == n * static_cast<size_t>(std::bit_width(q - 1)));
    std::vector<uint64_t> back(n);
    CHECK(unpack_residues(back.data(), bytes.data(), n, q));
    CHECK(back == residues);
  }
}

TEST_CASE("bytes of any kind are refused, or pack to the same bytes again") {
  size_t refused = 0, kept = 0;
  for (uint64_t q : {uint64_t{786433}, uint64_t{1099511627791}, (uint64_t{1} << 57) - 13}) {
    const size_t n = 8, size = packed_bytes(n, q);
    const auto random = residues_below(256, 1000 * size);
    for (size_t begin = 0; begin < random.size(); begin += size) {
      const std::vector<uint8_t> bytes(random.begin() + begin, random.begin() + begin + size);
      std::vector<uint64_t> residues(n);
      const bool below = unpack_residues(residues.data(), bytes.data(), n, q);
      if (!below) {
        ++refused;
        continue;
      }
      std::vector<uint8_t> packed(size);
      pack_residues(packed.data(), residues.data(), n, q);
      CHECK(packed == bytes);
      ++kept;
    }
  }
  CHECK(refused > 500);
  CHECK(kept > 500);
}

}  // namespace
}  // namespace psm::ckks
