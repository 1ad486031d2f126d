// From rounded coefficients to residues in NTT form, in the memory in which they will be used: the host's, or
// an engine's (ckks/engine/engine.h). An engine gets the coefficients instead of all limbs.
//
// Residues are exact functions of the coefficients, so all makers give the same bits. Thread-safe.
#pragma once

#include <span>

#include "ckks/base/buffer.h"
#include "ckks/ring/ring.h"

namespace psm::ckks {

// rows x cols plaintexts of one period, row after row. Each has `values` doubles, which are cut towards zero: below
// 2^51 they are integers. It is a polynomial in X^(N / values), with `values` different residues a limb.
struct CoefficientTile {
  std::span<const double> coefficients;
  size_t values;
  double largest;  // absolute value among them
  size_t rows = 1, cols = 1;
  // True: a limb has a matrix for each value, as Kernels::run_matrix_product takes them. False: it has
  // plaintext after plaintext.
  bool by_runs = false;

  size_t plaintexts() const { return rows * cols; }
  size_t limb_words() const { return plaintexts() * values; }
  // The place of a plaintext's first value in a limb, and the distance from value to value.
  size_t begin(size_t row, size_t col) const;
  size_t step() const { return by_runs ? plaintexts() : 1; }
};

class ResidueMaker {
 public:
  virtual ~ResidueMaker() = default;
  // Returns the residues, limb after limb.
  virtual Buffer residues(const CoefficientTile& tile, Basis basis) const = 0;
};

class HostResidueMaker final : public ResidueMaker {
 public:
  explicit HostResidueMaker(const Ring& ring) : ring_(ring) {}
  // No branch and no address depends on a coefficient, except on the size of the largest: below q_0 / 2,
  // below 2^62, or above.
  Buffer residues(const CoefficientTile& tile, Basis basis) const override;

 private:
  const Ring& ring_;
};

}  // namespace psm::ckks
