// Operations on whole limb buffers. Everything that depends on the processor's instructions is behind them.
//
// A limb is n residues modulo one prime, n a multiple of 8. Every kernel takes and leaves residues in [0, q),
// so all backends give the same bits. The scalar one is the reference, written for clarity. Elementwise
// kernels work on any stretch of a limb (advance a pointer by a multiple of 8), so a caller may split a limb
// among threads. Kernels themselves use one thread and allocate nothing.
//
// An output may be the same buffer as an input, unless the comment says otherwise. Other overlaps are not
// allowed.
#pragma once

#include <cstddef>

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

// The place of the constant of row r and column k in a matrix of run_matrix_product. Always inlined, because
// a copy compiled for one instruction set must not serve all (kernel_types.h).
[[gnu::always_inline]] inline size_t matrix_constant(size_t rows, size_t cols, size_t r, size_t k) {
  const size_t group = r / kMatrixRows * kMatrixRows;
  const size_t together = rows - group < kMatrixRows ? rows - group : kMatrixRows;
  return group * cols + k * together + r - group;
}

struct Kernels {
  const char* name;

  // out = the transform of a (ntt.h): natural order to bit-reversed order, and back.
  void (*ntt_forward)(uint64_t* out, const uint64_t* a, const NttView& tables);
  void (*ntt_inverse)(uint64_t* out, const uint64_t* a, const NttView& tables);

  // out = a + b, a - b, a * b, out + a * b.
  void (*add)(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q);
  void (*subtract)(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q);
  void (*multiply)(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q);
  void (*multiply_add)(uint64_t* out, const uint64_t* a, const uint64_t* b, size_t n, const Modulus& q);

  // out = a * c, out + a * c, (a - b) * c, (a - b) * c + d, for a constant c in [0, q). Rescaling and ModDown
  // end with the last two.
  void (*scale)(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q);
  void (*scale_add)(uint64_t* out, const uint64_t* a, Multiplier c, size_t n, const Modulus& q);
  void (*subtract_scale)(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c, size_t n,
                         const Modulus& q);
  void (*subtract_scale_add)(uint64_t* out, const uint64_t* a, const uint64_t* b, Multiplier c,
                             const uint64_t* d, size_t n, const Modulus& q);

  // Sums of products of pairs (a0 + a1 s) (b0 + b1 s), by power of s, in one pass over the factors:
  //     out0 = sum_k a0[k] * b0[k],   out1 = sum_k a0[k] * b1[k] + a1[k] * b0[k],   out2 = sum_k a1[k] * b1[k],
  // k < count <= 2048. Sums are reduced once, at the end. No out may be one of the factors.
  void (*tensor_product)(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                         const uint64_t* const* a1, const uint64_t* const* b0, const uint64_t* const* b1,
                         size_t count, size_t n, const Modulus& q);
  // out0 = sum_k a[k] * b0[k] and out1 = sum_k a[k] * b1[k] in one pass over a: digits times both halves of a
  // key. The key's residues are packed (packing.h); 64 bytes beyond them may be read.
  void (*packed_inner_product_pair)(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                                    const uint8_t* const* b0, const uint8_t* const* b1, size_t count,
                                    size_t n, const Modulus& q);

  // The inexact basis conversion (Bajard et al., SAC 2016; Cheon et al., ePrint 2018/931):
  //     out[j] = sum_i y[i] * c[j * in_count + i]  mod p[j],
  // where y[i] in [0, q_i) is x_i * (Q/q_i)^-1 mod q_i and c has the residues of Q/q_i modulo p_j. The result
  // belongs to x + u * Q for some 0 <= u < in_count. No out may be one of the y. in_count <= 4096.
  void (*basis_convert)(uint64_t* const* out, size_t out_count, const uint64_t* const* y, size_t in_count,
                        const uint64_t* c, const Modulus* p, size_t n);

  // u = the integer nearest to sum_i y[i] * reciprocals[i], in doubles, added in the order of i. This is the
  // u above. y[i] < 2^52, reciprocals[i] <= 2^-3 and near 1/q_i, count <= 4096.
  void (*nearest_multiples)(uint64_t* u, const uint64_t* const* y, const double* reciprocals, size_t count,
                            size_t n);

  // Takes residues modulo `from` as numbers in (-from/2, from/2) and reduces them modulo `to`. For small
  // signed values, and for ModRaise.
  void (*reduce_centered)(uint64_t* out, const uint64_t* a, size_t n, const Modulus& from, const Modulus& to);

  // The automorphism X -> X^g on a limb in NTT form, or on a tile of it (AutomorphismTable::tile); out must
  // not be a.
  void (*automorphism)(uint64_t* out, const uint64_t* a, const AutomorphismView& table);

  // Sums of products with polynomials in X^run, run a power of two: their NTTs are constant on runs of `run`
  // residues.
  //     out[r][i] (+)= sum_k a[k][i] * c[r * cols + k][i / run],   r < rows, k < cols <= 4096, run <= 4,
  // where c[.] has n / run residues. run = 1 is the plain sum of products. No out may be one of the a. With
  // accumulate, sums are added to what out holds.
  void (*matrix_product)(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                         const uint64_t* const* c, size_t run, size_t n, const Modulus& q, bool accumulate);
  // The same for run >= 8: for each run a matrix of constants times vectors. c holds the matrices one after
  // another. A matrix has kMatrixRows rows at a time (the last ones fewer), each group column by column
  // (matrix_constant), so that constants are read in the order in which they lie.
  void (*run_matrix_product)(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                             const uint64_t* c, size_t run, size_t n, const Modulus& q, bool accumulate);
};

}  // namespace psm::ckks
