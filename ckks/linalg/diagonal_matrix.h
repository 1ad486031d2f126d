// A matrix on n slots by its diagonals, in plain arithmetic. Transforms are composed of these before they are
// applied to ciphertexts.
//
//     M x = sum_k d_k . rot_k(x),     (rot_k x)[j] = x[j + k mod n],     (M)_{j, j+k} = d_k[j]
//
// Diagonals are complex vectors given by one period, a power of two that divides n; all diagonals of a matrix
// have the same period. A product of matrices with few diagonals has few: (D R_k)(E R_l) = (D . rot_k(E))
// R_{k+l}.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "ckks/linalg/plain.h"

namespace psm::ckks {

class DiagonalMatrix {
 public:
  // No diagonals: zero. `slots` and `period` are powers of two, period <= slots.
  DiagonalMatrix(int slots, int period);

  int slots() const { return slots_; }
  int period() const { return period_; }
  // Keys are offsets in [0, slots).
  const std::map<int, std::vector<Complex>>& diagonals() const { return diagonals_; }

  // Adds d to the diagonal `offset` (any sign); d has one period.
  void add(int offset, std::span<const Complex> d);

  // this * other; the period is the larger one.
  DiagonalMatrix times(const DiagonalMatrix& other) const;
  // rot_by M rot_{-by}: the same matrix on slots numbered from `by`.
  DiagonalMatrix conjugated_by_rotation(int by) const;
  // M rot_by: every offset moves.
  DiagonalMatrix shifted(int by) const;
  // diag(by) M; `by` is one period, a power of two that divides slots().
  DiagonalMatrix rows_scaled(std::span<const Complex> by) const;
  // The same diagonals on more slots, as M acts on vectors that repeat with period slots().
  DiagonalMatrix on_slots(int slots) const;

  std::vector<Complex> apply(std::span<const Complex> x) const;

 private:
  int slots_, period_;
  std::map<int, std::vector<Complex>> diagonals_;
};

}  // namespace psm::ckks
