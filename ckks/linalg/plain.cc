#include "ckks/linalg/plain.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckks/base/error.h"

namespace psm::ckks {
namespace {

class OneVector final : public PlainStore {
 public:
  explicit OneVector(std::vector<Complex> values) : values_(std::move(values)) {}
  std::span<const Complex> in_memory(uint32_t) const override { return values_; }
  void read(uint32_t, std::span<Complex> one_period) const override {
    std::copy(values_.begin(), values_.end(), one_period.begin());
  }
  double mean_square(uint32_t) const override {
    double sum = 0;
    for (const Complex& value : values_) sum += std::norm(value);
    return sum / static_cast<double>(values_.size());
  }
  size_t entries(uint32_t) const override {
    return values_.size() - static_cast<size_t>(std::count(values_.begin(), values_.end(), Complex()));
  }

 private:
  std::vector<Complex> values_;
};

}  // namespace

PlainValues::PlainValues(const PlainStore& store, uint32_t index, size_t period)
    : read_(period * (sizeof(Complex) / sizeof(uint64_t))) {
  auto* const values = reinterpret_cast<Complex*>(read_.data());
  store.read(index, {values, period});
  span::operator=({values, period});
}

Plain::Plain(std::vector<Complex> one_period) : log2_period_(log2_of(one_period.size())) {
  for (const Complex& value : one_period) {
    if (!std::isfinite(value.real()) || !std::isfinite(value.imag()))
      throw Error(
          "a plaintext vector holds a value that is not finite; check the weights that it was made from");
    real_ = real_ && value.imag() == 0;
  }
  store_ = std::make_shared<const OneVector>(std::move(one_period));
}

int8_t Plain::log2_of(size_t period) {
  if (!std::has_single_bit(period))
    throw Error(message("a plaintext vector of ", period,
                        " slots: one period must be a power of two; pad or repeat it"));
  return static_cast<int8_t>(std::countr_zero(period));
}

PlainValues Plain::values() const {
  PSM_CHECK(has_data(), "a shape has no values");
  const std::span<const Complex> there = store_->in_memory(index_);
  return there.empty() ? PlainValues(*store_, index_, period()) : PlainValues(there);
}

std::vector<Complex> Plain::to_vector() const {
  if (!has_data()) return {};
  const PlainValues all = values();
  return {all.begin(), all.end()};
}

double Plain::mean_square() const {
  PSM_CHECK(has_data(), "a shape has no values");
  return store_->mean_square(index_);
}

}  // namespace psm::ckks
