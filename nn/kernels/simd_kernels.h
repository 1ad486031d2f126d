// The inner loops of training, one set for each instruction set: baseline (4 lanes), AVX2 + FMA (8), AVX-512
// (16) and AVX-512 with products of bf16 pairs (16). The same source (simd_kernels_impl.h, vector extensions)
// is compiled four times, each in its own file with its own compiler flags; the set is chosen once, at run
// time, by what the processor has. Where there is no unit for bf16 pairs, fp32 does their products.
//
// Results differ between instruction sets in the last bits (fused or separate rounding), never between thread
// counts: an element's operations and their order do not depend on how the work was divided.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::nn {

struct SimdKernels {
  const char* name;
  int tile_rows;     // at most; rows of C that tile() computes at once
  int tile_columns;  // width of a packed panel of B
  bool bf16_unit;    // whether products of bf16 numbers have an instruction of their own

  // C tile <- alpha * (A B) + beta * C, rows x columns with rows <= tile_rows, columns <= tile_columns.
  // A element (i, l) is a[i * a_row + l * a_step]; the B panel is packed: row l holds tile_columns values,
  // padded with zeros. beta == 0 does not read C.
  void (*tile)(int rows, int columns, int depth, float alpha, const float* a, std::ptrdiff_t a_row,
               std::ptrdiff_t a_step, const float* panel, float beta, float* c, std::ptrdiff_t c_row);

  // The same of pairs of bf16 numbers, each the one of even index in its lower half: step l multiplies and
  // adds two products. With the unit subnormal numbers count as zero, and how the two sums are rounded is its
  // own; without it they are added one after the other, the odd one first.
  void (*tile_bf16)(int rows, int columns, int steps, float alpha, const uint32_t* a, std::ptrdiff_t a_row,
                    std::ptrdiff_t a_step, const uint32_t* panel, float beta, float* c, std::ptrdiff_t c_row);
  // pairs[i] <- (low[i], high[i]) as bf16, rounded to nearest, ties to even; high == nullptr: zeros. The unit
  // makes zeros of subnormal numbers.
  void (*zip_bf16)(const float* low, const float* high, size_t count, uint32_t* pairs);
  // pairs[i] <- (x[2i], x[2i + 1]), of `count` numbers; with zero for one beyond the last.
  void (*pair_bf16)(const float* x, size_t count, uint32_t* pairs);
  // y[j * y_row + i] <- x[i * x_row + j] for i < rows, j < columns, any 32 bits.
  void (*transpose)(const uint32_t* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* y,
                    std::ptrdiff_t y_row);

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
  // The same of pairs of bf16 numbers; without the unit, of fp32 numbers.
  float (*multiply_adds_bf16)(size_t rounds);
  int multiply_adds_bf16_flops;
};

// The best set that this processor runs; PSM_SIMD=scalar|avx2|avx512 in the environment asks for a lower one
// than avx512bf16.
const SimdKernels& simd_kernels();

const SimdKernels& simd_kernels_scalar();
// nullptr where the build or the processor lacks the instructions.
const SimdKernels* simd_kernels_avx2();
const SimdKernels* simd_kernels_avx512();
const SimdKernels* simd_kernels_avx512bf16();

}  // namespace psm::nn
