// Primes q = 1 mod 2N: Z_q has a primitive 2N-th root of unity, so X^N + 1 splits.
#pragma once

#include <cstdint>
#include <vector>

namespace psm::ckks {

// Deterministic, for n < 2^50: Miller-Rabin with the first twelve primes as bases, which has no pseudoprime
// below 3.3e24 (Sorenson, Webster, Math. Comp. 86, 2017).
bool is_prime(uint64_t n);

// Returns the prime = 1 mod 2^(log_n + 1) nearest to target, below 2^50 and not in `excluded`. Throws Error
// if there is none between about a half and three halves of the target.
uint64_t prime_near(double target, int log_n, const std::vector<uint64_t>& excluded = {});

}  // namespace psm::ckks
