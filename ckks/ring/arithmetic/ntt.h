// Tables for the negacyclic number-theoretic transform (NTT) of Z_q[X] / (X^N + 1).
//
// psi is a primitive 2N-th root of unity modulo q: g^((q-1)/2N) for the first g = 2, 3, ... that gives one.
// The transform of a(X) is, in bit-reversed order,
//
//     A[j] = a(psi^(2 brv(j) + 1)),    j = 0, ..., N - 1,    brv = reversal of log2(N) bits,
//
// so that products modulo X^N + 1 become products of residues. The transform itself is Kernels::ntt_forward and
// ntt_inverse (kernels.h): natural order in, bit-reversed order out, and back; residues in [0, q) at both ends.
//
// Butterflies take the roots in the order of their use: root(i) = psi^brv(i) for the block i - m of the layer with m =
// 2^floor(log2 i) blocks (Longa, Naehrig, ePrint 2016/504). Immutable after construction; thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/base/buffer.h"
#include "ckks/ring/arithmetic/modulus.h"

namespace psm::ckks {

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
  NttTables(const NttTables&) = delete;
  NttTables& operator=(const NttTables&) = delete;

  int log_n() const { return view_.log_n; }
  size_t n() const { return size_t{1} << view_.log_n; }
  const Modulus& modulus() const { return view_.modulus; }
  uint64_t psi() const { return psi_; }

  // psi^brv(i), i in [1, N); roots()[1] = psi^(N/2), a square root of -1.
  const uint64_t* roots() const { return view_.roots; }
  // For the kernels; valid as long as the tables.
  operator const NttView&() const { return view_; }

 private:
  uint64_t psi_;
  Buffer roots_, root_quotients_, inverse_roots_, inverse_root_quotients_;
  NttView view_;
};

}  // namespace psm::ckks
