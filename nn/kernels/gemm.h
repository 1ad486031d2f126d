// Matrix products, the bulk of training:  C <- alpha * op(A) op(B) + beta * C,  op(X) = X or X'.
//
// op(A) is m x k, op(B) is k x n, C is m x n, all row-major with the given row lengths. B is packed in blocks
// of kDepthBlock rows into panels as wide as the kernel's tile (read contiguously, reused by all rows of A),
// and A once for all panels. Threads share the rows of C. Inside a parallel loop the calling thread does
// everything.
//
// Precision kBf16 rounds both factors to bf16 while packing and sums products in fp32. It uses AMX's tiles or
// AVX512_BF16 if the processor has them (simd_kernels.h). alpha, beta and C are always fp32.
//
// Deterministic: each element of C is summed by one thread in the same order (depth blocks in sequence, fused
// multiply-adds inside), whatever the number of threads. Packing buffers are kept per thread and only grow.
// The double version is a plain triple loop for gradient checks.
#pragma once

#include <type_traits>

namespace psm::nn {

// The precision to which a matrix product rounds its factors. kBf16: 8 bits of significand, the exponents of fp32.
// Everything but the factors of products stays fp32, sums included.
enum class Precision { kFp32, kBf16 };

constexpr const char* name_of(Precision precision) { return precision == Precision::kBf16 ? "bf16" : "fp32"; }

enum class Transpose { kNo, kYes };

struct GemmShape {
  int m, n, k;
};

// A factor in memory, with rows `row` numbers apart.
template <typename Scalar>
struct Matrix {
  const Scalar* values;
  int row;
};

// C <- alpha * op(A) op(B) + beta * D. D has C's shape and may be C; with d_row = 0 it is one row that is
// added to all.
void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, float alpha, Matrix<float> a,
               Matrix<float> b, float beta, const float* d, int d_row, float* c, int c_row);
void gemm_plus(Precision precision, Transpose ta, Transpose tb, GemmShape shape, double alpha,
               Matrix<double> a, Matrix<double> b, double beta, const double* d, int d_row, double* c,
               int c_row);

template <typename Scalar>
void gemm(Precision precision, Transpose ta, Transpose tb, GemmShape shape, Scalar alpha,
          std::type_identity_t<Matrix<Scalar>> a, std::type_identity_t<Matrix<Scalar>> b, Scalar beta,
          Scalar* c, int c_row) {
  gemm_plus(precision, ta, tb, shape, alpha, a, b, beta, c, c_row, c, c_row);
}

}  // namespace psm::nn
