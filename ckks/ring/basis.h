// Basis: which of a ring's primes q_0 .. q_L and p_0 .. p_{k-1} (ring.h) a polynomial has limbs for.
#pragma once

namespace psm::ckks {

// Limbs q_0 .. q_{q-1}, then p_0 .. p_{p-1}.
struct Basis {
  int q = 0;
  int p = 0;
  int limbs() const { return q + p; }
  bool operator==(const Basis&) const = default;
};

}  // namespace psm::ckks
