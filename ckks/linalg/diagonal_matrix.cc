#include "ckks/linalg/diagonal_matrix.h"

#include <bit>

#include "ckks/base/error.h"

namespace psm::ckks {

DiagonalMatrix::DiagonalMatrix(int slots, int period) : slots_(slots), period_(period) {
  PSM_CHECK(slots > 0 && std::has_single_bit(static_cast<unsigned>(slots)), "slots ", slots);
  PSM_CHECK(period > 0 && period <= slots && std::has_single_bit(static_cast<unsigned>(period)), "period ",
            period);
}

void DiagonalMatrix::add(int offset, std::span<const Complex> d) {
  PSM_CHECK(static_cast<int>(d.size()) == period_, d.size(), " values, period ", period_);
  std::vector<Complex>& diagonal = diagonals_[offset & (slots_ - 1)];
  diagonal.resize(period_);
  for (int j = 0; j < period_; ++j) diagonal[j] += d[j];
}

DiagonalMatrix DiagonalMatrix::times(const DiagonalMatrix& other) const {
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

DiagonalMatrix DiagonalMatrix::conjugated_by_rotation(int by) const {
  DiagonalMatrix out(slots_, period_);
  std::vector<Complex> moved(period_);
  for (const auto& [k, d] : diagonals_) {
    for (int j = 0; j < period_; ++j) moved[j] = d[(j + by) & (period_ - 1)];
    out.add(k, moved);
  }
  return out;
}

DiagonalMatrix DiagonalMatrix::shifted(int by) const {
  DiagonalMatrix out(slots_, period_);
  for (const auto& [k, d] : diagonals_) out.add(k + by, d);
  return out;
}

DiagonalMatrix DiagonalMatrix::rows_scaled(std::span<const Complex> by) const {
  DiagonalMatrix factor(slots_, static_cast<int>(by.size()));
  factor.add(0, by);
  return factor.times(*this);
}

DiagonalMatrix DiagonalMatrix::on_slots(int slots) const {
  PSM_CHECK(slots >= slots_, slots, " slots, ", slots_, " before");
  DiagonalMatrix out(slots, period_);
  out.diagonals_ = diagonals_;
  return out;
}

std::vector<Complex> DiagonalMatrix::apply(std::span<const Complex> x) const {
  PSM_CHECK(static_cast<int>(x.size()) == slots_, x.size(), " values, ", slots_, " slots");
  std::vector<Complex> out(slots_);
  for (const auto& [k, d] : diagonals_) {
    for (int j = 0; j < slots_; ++j) out[j] += d[j & (period_ - 1)] * x[(j + k) & (slots_ - 1)];
  }
  return out;
}

}  // namespace psm::ckks
