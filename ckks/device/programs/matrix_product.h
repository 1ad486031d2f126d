// MatrixProduct: what rotations are multiplied with and summed to, giants x babies,
//
//     out_r (+)= sum_k a_k w_{r,k},      r < rows, k < cols,
//
// both polynomials of every a and out, limbs [first, first + limbs) of their basis; weights constant on runs,
// laid out as WeightTile has them (ckks/engine/operands.h). A thread makes one residue of kMatrixRows rows.
#pragma once

#include "ckks/device/programs/block_program.h"

namespace psm::ckks {

constexpr int kMaxMatrixRows = 32, kMaxMatrixColumns = 128;

struct MatrixProduct : OfElements {
  static constexpr const char* kName = "matrix product";
  static constexpr int kRows = static_cast<int>(kMatrixRows);

  int log_n, log_run;
  LimbPrimes primes;
  int first, limbs;
  int rows, cols;
  int weight_rows, first_row;  // of the tile's rows, which are more where they do not fit a launch
  bool by_runs;                // matrices one after another; otherwise values of each plaintext together
  bool accumulate;
  const uint64_t* weights;           // of limb 0
  const uint64_t* sources;           // polynomial h of source s, limb j: ((2 s + h) limbs + j - first) N
  uint64_t* out[kMaxMatrixRows][2];  // limb j at j N
  uint8_t source[kMaxMatrixColumns];

  constexpr int groups() const { return (rows + kRows - 1) / kRows; }
  uint32_t blocks() const { return static_cast<uint32_t>(2 * limbs * groups()) * chunks(log_n); }
  Work work() const {
    const auto r = static_cast<uint64_t>(rows), c = static_cast<uint64_t>(cols);
    const auto made = static_cast<uint64_t>(limbs);
    const uint64_t words = 2 * (c + r + (accumulate ? r : 0));
    return {(made * words * 8 << log_n) + (made * r * c * 8 << (log_n - log_run)), 2 * made * r * c << log_n};
  }

  template <int kPhase>
  constexpr void phase(Place at, uint64_t*) const {
    // Blocks that read the same sources run together.
    const uint32_t part = at.block / static_cast<uint32_t>(groups());
    const int group = static_cast<int>(at.block) % groups() * kRows;
    const int half = static_cast<int>(part / chunks(log_n)) % 2;
    const int limb = static_cast<int>(part / chunks(log_n)) / 2, j = first + limb;
    const uint64_t place = part % chunks(log_n) * kElementThreads + at.thread;
    const Modulus m = primes.modulus(j);
    const int together = rows - group < kRows ? rows - group : kRows;
    const uint64_t values = uint64_t{1} << (log_n - log_run), run = place >> log_run;
    const uint64_t all = static_cast<uint64_t>(weight_rows) * cols;
    const uint64_t* const matrix = weights + static_cast<uint64_t>(j) * all * values;
    // Where row `group` and column 0 begin; the next row and the next column come so many words later.
    const int row = first_row + group, tile_group = row / kRows * kRows;
    const int tile_rows = weight_rows - tile_group < kRows ? weight_rows - tile_group : kRows;
    const uint64_t begin = by_runs ? run * all + static_cast<uint64_t>(tile_group) * cols
                                   : static_cast<uint64_t>(row) * cols * values + run;
    const uint64_t next_row = by_runs ? 1 : static_cast<uint64_t>(cols) * values;
    const uint64_t next_column = by_runs ? static_cast<uint64_t>(tile_rows) : values;
    const uint64_t* const here = sources + (static_cast<uint64_t>(half * limbs + limb) << log_n) + place;
    const uint64_t next_source = static_cast<uint64_t>(2 * limbs) << log_n;
    SplitSum sum[kRows];
    const auto add_all = [&](const auto row_place) {
      const uint64_t* weight = matrix + begin;
      PSM_UNROLL_4
      for (int k = 0; k < cols; ++k, weight += next_column) {
        const Halves a(here[source[k] * next_source]);
        PSM_UNROLL
        for (int r = 0; r < kRows; ++r) sum[r].add(a, Halves(weight[row_place(r)]));
      }
    };
    // Rows that are not there get the weights of the last.
    if (by_runs && together == kRows) {
      add_all([](int r) { return r; });
    } else {
      add_all([&](int r) { return (r < together ? r : together - 1) * next_row; });
    }
    PSM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (r < together) {
        uint64_t* const to = out[group + r][half] + (static_cast<uint64_t>(j) << log_n) + place;
        const uint64_t value = sum[r].residue(m);
        *to = accumulate ? add_mod(*to, value, m) : value;
      }
    }
  }
};

}  // namespace psm::ckks
