// Matrix products, the bulk of training:  C <- alpha * op(A) op(B) + beta * C,  op(X) = X or X'.
//
// op(A) is m x k, op(B) is k x n, C is m x n, all row-major with the given row lengths. B is packed in blocks
// of kDepthBlock rows into panels as wide as the kernel's tile (read contiguously, reused by all rows of A);
// A is read in place, A' packed too, once for all panels. OpenMP divides the rows of C; inside a parallel
// region the calling thread does it all.
//
// Precision kBf16 rounds both factors to bf16 while they are packed (A is packed too) and sums products in
// fp32, with the processor's unit for it where there is one: AMX's tiles or AVX512_BF16 (simd_kernels.h).
// alpha, beta and C are fp32 always.
//
// Deterministic: each element of C is summed by one thread in the same order (depth blocks in sequence, fused
// multiply-adds inside), whatever the number of threads. Packing buffers are kept per thread and only grow.
// The double version is a plain triple loop for gradient checks.
#pragma once

#include "nn/kernels/precision.h"

namespace psm::nn {

enum class Transpose { kNo, kYes };

struct GemmShape {
  int m, n, k;
};

// C <- alpha * op(A) op(B) + beta * D: D has C's shape, or with d_row 0 one row that is added to all. It may
// be C.
void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, float alpha, const float* a,
               int a_row, const float* b, int b_row, float beta, const float* d, int d_row, float* c,
               int c_row);
void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, double alpha,
               const double* a, int a_row, const double* b, int b_row, double beta, const double* d,
               int d_row, double* c, int c_row);

template <typename Scalar>
void gemm(Precision precision, Transpose ta, Transpose tb, GemmShape shape, Scalar alpha, const Scalar* a,
          int a_row, const Scalar* b, int b_row, Scalar beta, Scalar* c, int c_row) {
  gemm_plus(precision, ta, tb, shape, alpha, a, a_row, b, b_row, beta, c, c_row, c, c_row);
}

}  // namespace psm::nn
