// A matrix on n slots by its diagonals, in plain arithmetic. Transforms are composed of these before they are
// applied to ciphertexts.
//
//     M x = sum_k d_k . rot_k(x),     (rot_k x)[j] = x[j + k mod n],     (M)_{j, j+k} = d_k[j]
//
// Diagonals are complex vectors given by one period, a power of two that divides n; all diagonals of a matrix
// have the same period. A product of matrices with few diagonals has few: (D R_k)(E R_l) = (D . rot_k(E))
// R_{k+l}.
#pragma once

#include <algorithm>
#include <bit>
#include <map>
#include <span>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/linalg/plain.h"

namespace psm::ckks {

class DiagonalMatrix {
 public:
  // No diagonals: zero. `slots` and `period` are powers of two, period <= slots.
  DiagonalMatrix(int slots, int period) : slots_(slots), period_(period) {
    PSM_CHECK(slots > 0 && std::has_single_bit(static_cast<unsigned>(slots)), "slots ", slots);
    PSM_CHECK(period > 0 && period <= slots && std::has_single_bit(static_cast<unsigned>(period)), "period ",
              period);
  }

  int slots() const { return slots_; }
  int period() const { return period_; }
  // Keys are offsets in [0, slots).
  const std::map<int, std::vector<Complex>>& diagonals() const { return diagonals_; }

  // Adds d to the diagonal `offset` (any sign); d has one period.
  void add(int offset, std::span<const Complex> d) {
    PSM_CHECK(static_cast<int>(d.size()) == period_, d.size(), " values, period ", period_);
    std::vector<Complex>& diagonal = diagonals_[offset & (slots_ - 1)];
    diagonal.resize(period_);
    for (int j = 0; j < period_; ++j) diagonal[j] += d[j];
  }

  // this * other; the period is the larger one.
  DiagonalMatrix times(const DiagonalMatrix& other) const {
    PSM_CHECK(slots_ == other.slots_);
    DiagonalMatrix out(slots_, std::max(period_, other.period_));
    std::vector<Complex> product(out.period_);
    for (const auto& [k, d] : diagonals_) {
      for (const auto& [l, e] : other.diagonals_) {
        for (int j = 0; j < out.period_; ++j) {
          product[j] = d[j & (period_ - 1)] * e[(j + k) & (other.period_ - 1)];
        }
        out.add(k + l, product);
      }
    }
    return out;
  }
  // rot_left M rot_right.
  DiagonalMatrix between_rotations(int left, int right) const {
    DiagonalMatrix out(slots_, period_);
    std::vector<Complex> moved(period_);
    for (const auto& [k, d] : diagonals_) {
      for (int j = 0; j < period_; ++j) moved[j] = d[(j + left) & (period_ - 1)];
      out.add(left + k + right, moved);
    }
    return out;
  }
  // The same diagonals on more slots, as M acts on vectors that repeat with period slots().
  DiagonalMatrix on_slots(int slots) const {
    PSM_CHECK(slots >= slots_, slots, " slots, ", slots_, " before");
    DiagonalMatrix out(slots, period_);
    out.diagonals_ = diagonals_;
    return out;
  }

  std::vector<Complex> apply(std::span<const Complex> x) const {
    PSM_CHECK(static_cast<int>(x.size()) == slots_, x.size(), " values, ", slots_, " slots");
    std::vector<Complex> out(slots_);
    for (const auto& [k, d] : diagonals_) {
      for (int j = 0; j < slots_; ++j) out[j] += d[j & (period_ - 1)] * x[(j + k) & (slots_ - 1)];
    }
    return out;
  }

 private:
  int slots_, period_;
  std::map<int, std::vector<Complex>> diagonals_;
};

}  // namespace psm::ckks
