#include "nn/kernels/bf16_copy.h"

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

constexpr int kLine = 16;  // words

// A first-level cache of 64 sets begins anew after 64 lines. Rows of up to 16 lines need one between them.
std::ptrdiff_t row_words(int columns) {
  const int lines = ((columns + 1) / 2 + kLine - 1) / kLine;
  int distance = lines + 1;
  if (lines > 16)
    while (distance % 64 < 16 || distance % 64 > 48) ++distance;
  return static_cast<std::ptrdiff_t>(distance) * kLine;
}

}  // namespace

size_t bf16_copy_words(int rows, int columns) {
  return static_cast<size_t>(rows) * static_cast<size_t>(row_words(columns));
}

Bf16Copy bf16_copy(const float* x, int rows, int columns, uint32_t* memory) {
  const std::ptrdiff_t row = row_words(columns);
  simd_kernels().pair_bf16(x, columns, rows, columns, memory, row);
  return {memory, row};
}

}  // namespace psm::nn
