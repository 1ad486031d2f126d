// The sums of products of the AVX-512-IFMA backend, as kernels.h says.
#pragma once

#include "ckks/ring/arithmetic/kernel_types.h"

namespace psm::ckks {

void tensor_product_avx512ifma(uint64_t* out0, uint64_t* out1, uint64_t* out2, const uint64_t* const* a0,
                               const uint64_t* const* a1, const uint64_t* const* b0,
                               const uint64_t* const* b1, size_t count, size_t n, const Modulus& modulus);
void packed_inner_product_pair_avx512ifma(uint64_t* out0, uint64_t* out1, const uint64_t* const* a,
                                          const uint8_t* const* b0, const uint8_t* const* b1, size_t count,
                                          size_t n, const Modulus& q);
void basis_convert_avx512ifma(uint64_t* const* out, size_t out_count, const uint64_t* const* y,
                              size_t in_count, const uint64_t* c, const Modulus* p, size_t n);
void matrix_product_avx512ifma(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                               const uint64_t* const* c, size_t run, size_t n, const Modulus& modulus,
                               bool accumulate);
void run_matrix_product_avx512ifma(uint64_t* const* out, size_t rows, const uint64_t* const* a, size_t cols,
                                   const uint64_t* c, size_t run, size_t n, const Modulus& modulus,
                                   bool accumulate);

}  // namespace psm::ckks
