// The inner loops of training in fp32, one set for each instruction set: baseline (4 lanes), AVX2 + FMA (8)
// and AVX-512 (16). The same source (simd_kernels_impl.h, vector extensions) is compiled three times, each in
// its own file with its own compiler flags; the set is chosen once, at run time, by what the processor has.
//
// Results differ between instruction sets in the last bits (fused or separate rounding), never between thread
// counts: an element's operations and their order do not depend on how the work was divided.
#pragma once

#include <cstddef>

namespace psm::nn {

struct SimdKernels {
  const char* name;
  int tile_rows;     // at most; rows of C that tile() computes at once
  int tile_columns;  // width of a packed panel of B

  // C tile <- alpha * (A B) + beta * C, rows x columns with rows <= tile_rows, columns <= tile_columns.
  // A element (i, l) is a[i * a_row + l * a_step]; the B panel is packed: row l holds tile_columns values,
  // padded with zeros. beta == 0 does not read C.
  void (*tile)(int rows, int columns, int depth, float alpha, const float* a, std::ptrdiff_t a_row,
               std::ptrdiff_t a_step, const float* panel, float beta, float* c, std::ptrdiff_t c_row);

  // values[i] <- e^{values[i]}; arguments above 88 count as 88, below -87 the result is 0.
  void (*exponentials)(float* values, size_t count);
  // y <- z * sigmoid(slope z)
  void (*swish)(float slope, const float* z, float* y, size_t count);
  // grad_z += grad_y * d swish / dz
  void (*swish_vjp)(float slope, const float* z, const float* grad_y, float* grad_z, size_t count);

  // max_i x_i, count >= 1; NaN are passed over unless x_0 is one.
  float (*highest)(const float* x, size_t count);
  // The first i with the largest |x_i|, count >= 1; NaN count as larger than all others.
  size_t (*peak)(const float* x, size_t count);

  // Independent multiply-adds on registers, nothing else: what benchmarks take for the processor's peak. Each
  // round is multiply_adds_flops operations; the result is positive.
  float (*multiply_adds)(size_t rounds);
  int multiply_adds_flops;
};

// The best set that this processor runs; PSM_SIMD=scalar|avx2|avx512 in the environment asks for a lower one.
const SimdKernels& simd_kernels();

const SimdKernels& simd_kernels_scalar();
// nullptr where the build or the processor lacks the instructions.
const SimdKernels* simd_kernels_avx2();
const SimdKernels* simd_kernels_avx512();

}  // namespace psm::nn
