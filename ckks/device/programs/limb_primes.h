// The primes of a polynomial's limbs, as programs find them: limb j of the basis {q, p} belongs to prime j of
// the ring's table, or j - q + q_count (Ring::prime_index).
#pragma once

#include "ckks/device/programs/block_program.h"
#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

struct LimbPrimes {
  const NttView* views = nullptr;  // of all primes of the ring
  int q = 0, p = 0;                // the basis
  int q_count = 0;                 // of the ring

  constexpr int limbs() const { return q + p; }
  constexpr int prime(int j) const { return j < q ? j : q_count + j - q; }
  constexpr const Modulus& modulus(int j) const { return views[prime(j)].modulus; }
};

// Elementwise programs: each thread makes one residue, a block kElementThreads neighbours of one limb.
constexpr int kElementThreads = 256;

}  // namespace psm::ckks
