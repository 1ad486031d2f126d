#include "nn/kernels/bf16_copy.h"

#include <algorithm>

#include "nn/kernels/simd_kernels.h"

namespace psm::nn {
namespace {

constexpr int kEdge = 16;  // rows and words of a tile
constexpr int kLine = 16;  // words

int rounded_up(int count, int unit) { return (count + unit - 1) / unit * unit; }
int pairs_of(int columns) { return (columns + 1) / 2; }

// A first-level cache of 64 sets begins anew after 64 lines. Rows of up to 16 lines need one between them.
std::ptrdiff_t row_words(int columns) {
  const int lines = rounded_up(pairs_of(columns), kLine) / kLine;
  int distance = lines + 1;
  if (lines > 16)
    while (distance % 64 < 16 || distance % 64 > 48) ++distance;
  return static_cast<std::ptrdiff_t>(distance) * kLine;
}

}  // namespace

size_t bf16_copy_words(int rows, int columns) {
  return static_cast<size_t>(rounded_up(rows, kEdge)) * static_cast<size_t>(row_words(columns));
}

Bf16Copy bf16_copy(const float* x, int rows, int columns, uint32_t* memory) {
  const std::ptrdiff_t row = row_words(columns);
  const int pairs = pairs_of(columns), padded = rounded_up(pairs, kEdge);
  simd_kernels().pair_bf16(x, columns, rows, columns, memory, row);
  for (int r = 0; r < rounded_up(rows, kEdge); ++r)
    std::fill(memory + r * row + (r < rows ? pairs : 0), memory + r * row + padded, 0u);
  return {memory, row};
}

}  // namespace psm::nn
