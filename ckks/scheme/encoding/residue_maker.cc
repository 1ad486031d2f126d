#include "ckks/scheme/encoding/residue_maker.h"

#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "ckks/ring/arithmetic/modulus.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::ckks {
namespace {

// Plaintexts that are written to matrices together.
constexpr size_t kTogether = 16;

// The negacyclic NTT of size `count` <= N on the tables for N, whose roots begin with those of every smaller
// size: the polynomial in X^(N/count), one value a run.
void ntt_prefix(uint64_t* x, size_t count, const NttTables& tables) {
  constexpr size_t kLeast =
      8;  // of the kernels; fewer coefficients are every other one, or every fourth, of so many
  NttView view = tables;
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
  const auto transform = [&](size_t row, size_t col, int prime, uint64_t* to) {
    const Modulus& modulus = ring_.modulus(prime);
    const size_t begin = (row * tile.cols + col) * values;
    const double* const from = tile.coefficients.data() + begin;
    if (small && prime == 0) {
      std::copy_n(first.data() + begin, values, to);
    } else if (small) {
      kernels().reduce_centered(to, first.data() + begin, values, q0, modulus);
    } else if (medium) {
      for (size_t i = 0; i < values; ++i) to[i] = reduce_signed(static_cast<int64_t>(from[i]), modulus);
    } else {
      for (size_t i = 0; i < values; ++i) to[i] = residue_of(from[i], modulus);
    }
    ntt_prefix(to, values, ring_.ntt(prime));
  };
  if (!tile.by_runs) {
    parallel_for(0, static_cast<size_t>(basis.limbs()) * tile.plaintexts(), [&](size_t index) {
      const int prime = ring_.prime_index(basis, static_cast<int>(index / tile.plaintexts()));
      const size_t row = index % tile.plaintexts() / tile.cols, col = index % tile.cols;
      transform(row, col, prime, out.data() + index * values);
    });
    return out;
  }
  // The rows of one limb that lie together, as many plaintexts at a time as fill some cache lines of each of
  // their matrices. Apart by a line more than their length, values of one place do not share a set of the cache.
  const size_t groups = (tile.rows + kMatrixRows - 1) / kMatrixRows, apart = values + 8;
  parallel_for(0, static_cast<size_t>(basis.limbs()) * groups, [&](size_t index) {
    const int j = static_cast<int>(index / groups), prime = ring_.prime_index(basis, j);
    const size_t row = index % groups * kMatrixRows, rows = std::min(kMatrixRows, tile.rows - row);
    uint64_t* const limb = out.data() + static_cast<size_t>(j) * tile.limb_words() + tile.begin(row, 0);
    Buffer transforms(kTogether * apart);
    for (size_t done = 0; done < rows * tile.cols; done += kTogether) {
      const size_t count = std::min(kTogether, rows * tile.cols - done);
      for (size_t p = 0; p < count; ++p)
        transform(row + (done + p) % rows, (done + p) / rows, prime, transforms.data() + p * apart);
      for (size_t i = 0; i < values; ++i) {
        for (size_t p = 0; p < count; ++p) limb[i * step + done + p] = transforms.data()[p * apart + i];
      }
    }
  });
  return out;
}

}  // namespace psm::ckks
