#include "ckks/scheme/encoding/residue_maker.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/real_residue.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// The negacyclic NTT of size `count` <= N on the tables for N, whose roots begin with those of every smaller
// size: the polynomial in X^(N/count), one value a run.
void ntt_prefix(uint64_t* x, size_t count, const NttTables& tables) {
  constexpr size_t kLeast =
      8;  // of the kernels; fewer coefficients are every other one, or every fourth, of so many
  NttView view = tables.view();
  view.log_n = std::countr_zero(std::max(count, kLeast));
  if (count >= kLeast) {
    kernels().ntt_forward(x, x, view);
    return;
  }
  alignas(64) uint64_t wide[kLeast] = {};
  const size_t step = kLeast / count;
  for (size_t i = 0; i < count; ++i) wide[i * step] = x[i];
  kernels().ntt_forward(wide, wide, view);
  for (size_t i = 0; i < count; ++i) x[i] = wide[i * step];
}

}  // namespace

size_t CoefficientTile::begin(size_t row, size_t col) const {
  return by_runs ? matrix_constant(rows, cols, row, col) : (row * cols + col) * values;
}

Buffer HostResidueMaker::residues(const CoefficientTile& tile, Basis basis) const {
  const size_t values = tile.values, step = tile.step();
  PSM_CHECK(tile.coefficients.size() == tile.limb_words(), tile.coefficients.size(), " coefficients");
  Buffer out(static_cast<size_t>(basis.limbs()) * tile.limb_words());
  // Small coefficients pass through one prime's residues, which the backend lifts to all others.
  const Modulus& q0 = ring_.q(0);
  const bool small = tile.largest < 0.49 * static_cast<double>(q0.value) && values >= 8,
             medium = tile.largest < 0x1p62;
  Buffer first(small ? tile.limb_words() : 0);
  for (size_t i = 0; i < first.size(); ++i) {
    const int64_t c = static_cast<int64_t>(tile.coefficients[i]);
    first[i] = static_cast<uint64_t>(c + ((c >> 63) & static_cast<int64_t>(q0.value)));
  }
  // A row of one limb.
  parallel_for(0, static_cast<size_t>(basis.limbs()) * tile.rows, [&](size_t index) {
    const size_t row = index % tile.rows;
    const int j = static_cast<int>(index / tile.rows), prime = ring_.prime_index(basis, j);
    const Modulus& modulus = ring_.modulus(prime);
    Buffer apart(step == 1 ? 0 : values);
    for (size_t col = 0; col < tile.cols; ++col) {
      uint64_t* const to = out.data() + static_cast<size_t>(j) * tile.limb_words() + tile.begin(row, col);
      const size_t begin = (row * tile.cols + col) * values;
      const double* const from = tile.coefficients.data() + begin;
      uint64_t* const limb = step == 1 ? to : apart.data();
      if (small && prime == 0) {
        std::copy_n(first.data() + begin, values, limb);
      } else if (small) {
        kernels().reduce_centered(limb, first.data() + begin, values, q0, modulus);
      } else if (medium) {
        for (size_t i = 0; i < values; ++i) limb[i] = reduce_signed(static_cast<int64_t>(from[i]), modulus);
      } else {
        for (size_t i = 0; i < values; ++i) limb[i] = residue_of(from[i], modulus);
      }
      ntt_prefix(limb, values, ring_.ntt(prime));
      if (step == 1) continue;
      for (size_t i = 0; i < values; ++i) to[i * step] = limb[i];
    }
  });
  return out;
}

}  // namespace psm::ckks
