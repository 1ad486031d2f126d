// From rounded coefficients to residues in NTT form, where they will be used: in the host's memory, or in an
// engine's (ckks/engine/engine.h), to which the coefficients go instead of all limbs.
//
// Residues are exact functions of the coefficients, so that all makers give the same bits. Thread-safe.
#pragma once

#include <span>

#include "ckks/base/buffer.h"
#include "ckks/ring/ring.h"

namespace psm::ckks {

// rows x cols plaintexts of one period, row after row: `values` integers each, as doubles, plaintext after
// plaintext. A polynomial in X^(N / values) has so many values a limb.
struct CoefficientTile {
  std::span<const double> coefficients;
  size_t values;
  double largest;  // absolute value among them
  size_t rows = 1, cols = 1;
  // Whether a limb is a matrix for each value, as Kernels::run_matrix_product takes them, or plaintext after
  // plaintext.
  bool by_runs = false;

  size_t plaintexts() const { return rows * cols; }
  size_t limb_words() const { return plaintexts() * values; }
  // Where the values of a plaintext begin in a limb, and how far apart they are.
  size_t begin(size_t row, size_t col) const;
  size_t step() const { return by_runs ? plaintexts() : 1; }
};

class ResidueMaker {
 public:
  virtual ~ResidueMaker() = default;
  // Null for the host's.
  virtual Memory* memory() const = 0;
  // Limb after limb.
  virtual Buffer residues(const CoefficientTile& tile, Basis basis) const = 0;
};

class HostResidueMaker final : public ResidueMaker {
 public:
  explicit HostResidueMaker(const Ring& ring) : ring_(ring) {}
  Memory* memory() const override { return nullptr; }
  // No branch and no address depends on a coefficient, but for the size of the largest: below q_0 / 2, below
  // 2^62, or above.
  Buffer residues(const CoefficientTile& tile, Basis basis) const override;

 private:
  const Ring& ring_;
};

}  // namespace psm::ckks
