// Tables for the negacyclic number-theoretic transform (NTT) of Z_q[X] / (X^N + 1).
//
// With psi a primitive 2N-th root of unity modulo q (the smallest power-of-generator found, fixed for each
// q), the transform of a(X) is, in bit-reversed order,
//
//     A[j] = a(psi^(2 brv(j) + 1)),    j = 0, ..., N - 1,    brv = reversal of log2(N) bits,
//
// so that products modulo X^N + 1 become products of residues. The transform itself is Kernels::ntt_forward
// and ntt_inverse (backend.h): natural order in, bit-reversed order out, and back; residues in [0, q) at both
// ends.
//
// Butterflies take the roots in the order of their use: root(i) = psi^brv(i) for the block i - m of the layer
// with m = 2^floor(log2 i) blocks (Longa, Naehrig, ePrint 2016/504). Immutable after construction;
// thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "ckks/ring/modulus.h"

namespace psm {

// The reversal of the low `bits` bits of i.
inline uint64_t reverse_bits(uint64_t i, int bits) {
  uint64_t reversed = 0;
  for (int b = 0; b < bits; ++b) reversed |= ((i >> b) & 1) << (bits - 1 - b);
  return reversed;
}

class NttTables {
 public:
  // 3 <= log_n <= 17; q prime, q = 1 mod 2^(log_n + 1).
  NttTables(int log_n, const Modulus& modulus);

  int log_n() const { return log_n_; }
  size_t n() const { return size_t{1} << log_n_; }
  const Modulus& modulus() const { return modulus_; }
  uint64_t psi() const { return psi_; }

  // psi^brv(i) with its quotient, and psi^-brv(i) with its; i in [1, N).
  const uint64_t* roots() const { return roots_.data(); }
  const uint64_t* root_quotients() const { return root_quotients_.data(); }
  const uint64_t* inverse_roots() const { return inverse_roots_.data(); }
  const uint64_t* inverse_root_quotients() const { return inverse_root_quotients_.data(); }
  // 1/N, and psi^-brv(1) / N for the last layer of the inverse, which takes the division by N along.
  const Multiplier& inverse_n() const { return inverse_n_; }
  const Multiplier& inverse_n_root() const { return inverse_n_root_; }

 private:
  int log_n_;
  Modulus modulus_;
  uint64_t psi_;
  std::vector<uint64_t> roots_, root_quotients_, inverse_roots_, inverse_root_quotients_;
  Multiplier inverse_n_, inverse_n_root_;
};

}  // namespace psm
