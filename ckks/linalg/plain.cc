#include "ckks/linalg/plain.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"

namespace psm::ckks {

PlainValues::PlainValues(const PlainStore& store, uint32_t index, size_t period)
    : read_(period * (sizeof(Complex) / sizeof(uint64_t))) {
  auto* const values = reinterpret_cast<Complex*>(read_.data());
  store.read(index, {values, period});
  values_ = {values, period};
}

Plain::Plain(std::vector<Complex> one_period) : period_(one_period.size()) {
  if (!std::has_single_bit(period_))
    throw Error(message("a plaintext vector of ", period_,
                        " slots: one period must be a power of two; pad or repeat it"));
  for (const Complex& value : one_period) {
    if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
      throw Error(
          "a plaintext vector holds a value that is not finite; check the weights that it was made from");
    real_ = real_ && value.imag() == 0;
  }
  data_ = std::make_shared<const std::vector<Complex>>(std::move(one_period));
}

Plain Plain::constant(Complex value) { return Plain(std::vector<Complex>{value}); }

Plain Plain::shape_only(size_t period, bool real, size_t entries) {
  if (!std::has_single_bit(period))
    throw Error(message("a plaintext shape of ", period, " slots: one period must be a power of two"));
  Plain shape;
  shape.index_ = static_cast<uint32_t>(entries);
  shape.period_ = period;
  shape.real_ = real;
  return shape;
}

Plain::Identity Plain::identity() const {
  if (store_ != nullptr) return {store_.get(), index_};
  return {data_.get(), 0};
}

PlainValues Plain::values() const {
  PSM_CHECK(has_data(), "a shape has no values");
  if (store_ != nullptr) return PlainValues(*store_, index_, period_);
  return PlainValues(*data_);
}

std::vector<Complex> Plain::to_vector() const {
  if (!has_data()) return {};
  const PlainValues all = values();
  return {all.begin(), all.end()};
}

size_t Plain::entries() const {
  if (store_ != nullptr) return store_->entries(index_);
  if (data_ == nullptr) return index_;
  return data_->size() - static_cast<size_t>(std::count(data_->begin(), data_->end(), Complex()));
}

double Plain::mean_square() const {
  if (store_ != nullptr) return store_->mean_square(index_);
  double sum = 0;
  for (const Complex& value : values()) sum += std::norm(value);
  return sum / static_cast<double>(period_);
}

}  // namespace psm::ckks
