// A matrix rounded to bf16 once, for several products of Precision::kBf16 (gemm.h). They read it in place of
// the fp32 numbers: half the bytes, with bit-identical results.
//
// A word is a pair of neighbours in a row, the one of even index in the lower half; what is beyond the last
// column is zero. Kernels read several rows side by side, 1 KiB of each. The distance of rows puts these into
// different sets of a first-level cache, and lets tiles of 16 rows and 16 words be read at the edges.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm::nn {

struct Bf16Copy {
  const uint32_t* pairs = nullptr;  // null: there is none
  std::ptrdiff_t row = 0;           // words from one row to the next
};

// Words of memory that a copy takes.
size_t bf16_copy_words(int rows, int columns);

// Copies x, rows x columns without gaps, to `memory`, aligned to 64 bytes; rounds to nearest, ties to even.
Bf16Copy bf16_copy(const float* x, int rows, int columns, uint32_t* memory);

}  // namespace psm::nn
