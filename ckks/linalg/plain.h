// A vector that the server knows, given by one period (a power of two that divides the number of slots).
// Immutable, shared: copies are the same vector. Without data (shape_only) it stands for weights of a model
// that exists only as a shape, for the meter.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace psm::ckks {

using Complex = std::complex<double>;

class Plain {
 public:
  Plain() = default;
  explicit Plain(std::vector<Complex> one_period);
  static Plain constant(Complex value);
  static Plain shape_only(size_t period, bool real);

  size_t period() const { return period_; }
  bool real() const { return real_; }
  bool has_data() const { return data_ != nullptr; }
  Complex at(size_t slot) const { return (*data_)[slot & (period_ - 1)]; }
  std::span<const Complex> values() const { return *data_; }
  double max_abs() const;

 private:
  std::shared_ptr<const std::vector<Complex>> data_;
  size_t period_ = 0;
  bool real_ = true;
};

}  // namespace psm::ckks
