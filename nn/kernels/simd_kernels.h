// The inner loops of training, in five sets: baseline (4 lanes), AVX2 + FMA (8), AVX-512 (16), AVX-512 with
// products of bf16 pairs (16), and the last with AMX's tiles for those products. The same source
// (simd_kernels_impl.h, vector extensions) is compiled five times, each time with its own compiler flags. The
// set is chosen once, at run time, by the processor's abilities. Without a unit for bf16 pairs, fp32 computes
// their products.
//
// Results differ between instruction sets in the last bits (fused or separate rounding), never between thread
// counts: an element's operations and their order do not depend on how the work was divided.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::nn {

// A step of AdamW (nn/autograd/adamw.h): the gradient's factor and the corrections of the moments' bias.
struct AdamWConstants {
  float scale, b1, b2, correct_m, correct_v, epsilon, rate;
};

// What is done with a row of numbers: vectorised for float, loops for double (references and gradient checks). Results
// may take the place of an argument where it says so.
template <typename Scalar>
struct RowKernels {
  // y <- z * sigmoid(slope z)
  void (*swish)(Scalar slope, const Scalar* z, Scalar* y, size_t count);
  // grad_z += grad_y * (s + slope z s (1 - s)), s = sigmoid(slope z)
  void (*swish_vjp)(Scalar slope, const Scalar* z, const Scalar* grad_y, Scalar* grad_z, size_t count);

  // max_i x_i, count >= 1; NaN are passed over unless x_0 is one.
  Scalar (*highest)(const Scalar* x, size_t count);
  // max_i |x_i|, and the first i that attains it, count >= 1; of float NaN count as larger than all others. The same bits
  // on every instruction set, as highest().
  Scalar (*magnitude)(const Scalar* x, size_t count);
  size_t (*peak)(const Scalar* x, size_t count);

  // sum_i a_i b_i
  Scalar (*dot)(const Scalar* a, const Scalar* b, size_t count);
  // x <- factor x
  void (*scale)(Scalar* x, Scalar factor, size_t count);
  // y_i <- e^{x_i - shift}; their sum. Float exponents above 88 count as 88; below -87 y_i is 0. y may be x.
  Scalar (*exponentials_above)(const Scalar* x, Scalar shift, size_t count, Scalar* y);
  // y_i <- w_i (g_i - inner). y may be g.
  void (*softmax_vjp)(const Scalar* w, const Scalar* g, Scalar inner, size_t count, Scalar* y);
  // y_i <- (stretch x_i)^p for even p, unless y == nullptr; their sum. y may be x.
  Scalar (*powers)(const Scalar* x, Scalar stretch, int p, size_t count, Scalar* y);
  // y_i <- scale (stretch x_i)^(p - 1) (g_i - inner). y may be g.
  void (*powers_vjp)(const Scalar* x, Scalar stretch, int p, const Scalar* g, Scalar inner, Scalar scale,
                     size_t count, Scalar* y);

  // y <- y + x
  void (*accumulate)(Scalar* y, const Scalar* x, size_t count);
  // The mean of a row and the mean of (x - mean)^2.
  void (*moments)(const Scalar* x, size_t count, Scalar* mean, Scalar* variance);
  // y <- (x - mean) * inverse * gamma + beta, beta == nullptr: nothing added.
  void (*standardise)(const Scalar* x, Scalar mean, Scalar inverse, const Scalar* gamma, const Scalar* beta,
                      size_t count, Scalar* y);
  // Its vector-Jacobian product where mean and inverse follow x: LayerNorm's (nn/layers/norm.h), or with
  // dbeta == nullptr and mean 0 RMSNorm's. With z = (x - mean) * inverse and h = dy * gamma:
  //     dx += (h - mean h - z mean (h z)) * inverse      dgamma += dy z      dbeta += dy
  void (*standardise_vjp)(const Scalar* x, const Scalar* dy, Scalar mean, Scalar inverse, const Scalar* gamma,
                          size_t count, Scalar* dx, Scalar* dgamma, Scalar* dbeta);
};

struct SimdKernels {
  const char* name;
  int tile_rows;                          // at most; rows of C that tile() computes at once
  int tile_columns;                       // width of a packed panel of B
  int bf16_tile_rows, bf16_tile_columns;  // the same of tile_bf16()
  // The number of steps of tile_bf16() is a multiple of this. If it is more than 1, a_step is 1 and rows of A
  // are padded with zeros up to a multiple of it.
  int bf16_padding;

  // C tile <- alpha * (A B) + beta * D, rows x columns with 1 <= rows <= tile_rows and
  // 1 <= columns <= tile_columns; D may be C. A element (i, l) is a[i * a_row + l * a_step]; the B panel is
  // packed: row l holds tile_columns values, padded with zeros. beta == 0 does not read D.
  void (*tile)(int rows, int columns, int depth, float alpha, const float* a, std::ptrdiff_t a_row,
               std::ptrdiff_t a_step, const float* panel, float beta, const float* d, std::ptrdiff_t d_row,
               float* c, std::ptrdiff_t c_row);

  // The same for pairs of bf16 numbers, with the number of even index in the lower half. Step l adds two
  // products. With the processor's unit subnormal numbers count as zero, and the unit decides how the sums
  // are rounded. Without it the products are added one after the other, the odd one first.
  void (*tile_bf16)(int rows, int columns, int steps, float alpha, const uint32_t* a, std::ptrdiff_t a_row,
                    std::ptrdiff_t a_step, const uint32_t* panel, float beta, const float* d,
                    std::ptrdiff_t d_row, float* c, std::ptrdiff_t c_row);
  // Panels of `width` columns, `panel` words apart: copies[i / width * panel + l * width + i % width] <-
  // x[l * x_row + i], any 32 bits.
  void (*copy_panels)(const uint32_t* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* copies,
                      int width, std::ptrdiff_t panel);
  // Such panels of pairs: pairs[i / width * panel + l * width + i % width] <- (x[2l * x_row + i], x[(2l + 1)
  // * x_row + i]) as bf16, rounded to nearest, ties to even; with zero for a row beyond the last. The
  // processor's unit turns subnormal numbers into zeros.
  void (*zip_bf16)(const float* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* pairs, int width,
                   std::ptrdiff_t panel);
  // pairs[r * pairs_row + i] <- (x[r * x_row + 2i], x[r * x_row + 2i + 1]); with zero for a column beyond the
  // last.
  void (*pair_bf16)(const float* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* pairs,
                    std::ptrdiff_t pairs_row);
  // y[j * y_row + i] <- x[i * x_row + j] for i < rows, j < columns, any 32 bits.
  void (*transpose)(const uint32_t* x, std::ptrdiff_t x_row, int rows, int columns, uint32_t* y,
                    std::ptrdiff_t y_row);

  RowKernels<float> rows;
  // A step of the weights w with their moments m and v.
  void (*adamw)(const AdamWConstants& constants, const float* decay, const float* gradient, size_t count,
                float* w, float* m, float* v);
};

// The best set that this processor runs. PSM_SIMD=scalar|avx2|avx512|avx512bf16 in the environment asks for a
// lower one.
const SimdKernels& simd_kernels();

// Those of the set, or the loops.
template <typename Scalar>
const RowKernels<Scalar>& row_kernels();
template <>
const RowKernels<float>& row_kernels();
template <>
const RowKernels<double>& row_kernels();

// Each set, for processors that have it; nullptr if those that this is built for lack it.
const SimdKernels* simd_kernels_scalar();
const SimdKernels* simd_kernels_avx2();
const SimdKernels* simd_kernels_avx512();
const SimdKernels* simd_kernels_avx512bf16();
// Asks the processor for tiles, and the system once for their use. Returns nullptr also if one of them refuses.
const SimdKernels* simd_kernels_amxbf16();

}  // namespace psm::nn
