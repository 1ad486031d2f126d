// A vector that the server knows, given by one period (a power of two that divides the number of slots).
// Immutable, shared: copies are the same vector. Its values are in memory, or in a store such as a program's
// file, which reads them on request. Without values (shape_only) it stands for weights of a model that is
// only a shape, for the meter.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "ckks/base/buffer.h"

namespace psm::ckks {

using Complex = std::complex<double>;

// A place of values. Thread-safe.
class PlainStore {
 public:
  virtual ~PlainStore() = default;
  // One period of a vector, if it is in memory; else empty.
  virtual std::span<const Complex> in_memory(uint32_t) const { return {}; }
  // Reads one period of a vector. Throws Error if the store is damaged.
  virtual void read(uint32_t index, std::span<Complex> one_period) const = 0;
  // Known without reading.
  virtual double mean_square(uint32_t index) const = 0;
  virtual size_t entries(uint32_t index) const = 0;
};

// One period of a vector, in its place or as a copy that was read.
class PlainValues : public std::span<const Complex> {
 public:
  explicit PlainValues(std::span<const Complex> values) : span(values) {}
  PlainValues(const PlainStore& store, uint32_t index, size_t period);
  PlainValues(PlainValues&&) = default;
  PlainValues& operator=(PlainValues&&) = default;

 private:
  Buffer read_;
};

class Plain {
 public:
  Plain() = default;
  explicit Plain(std::vector<Complex> one_period);
  Plain(std::shared_ptr<const PlainStore> store, uint32_t index, size_t period, bool real)
      : store_(std::move(store)), index_(index), log2_period_(log2_of(period)), real_(real) {}
  static Plain constant(Complex value) { return Plain(std::vector<Complex>{value}); }
  // `entries`: of the vector that it stands for.
  static Plain shape_only(size_t period, bool real, size_t entries) {
    return Plain(nullptr, static_cast<uint32_t>(entries), period, real);
  }
  static Plain shape_only(size_t period, bool real) { return shape_only(period, real, period); }

  size_t period() const { return log2_period_ < 0 ? 0 : size_t{1} << log2_period_; }
  bool real() const { return real_; }
  bool has_data() const { return store_ != nullptr; }
  // Equal for copies of one vector and for vectors that a store shares; null without values.
  using Identity = std::pair<const void*, uint32_t>;
  Identity identity() const { return {store_.get(), has_data() ? index_ : 0}; }
  PlainValues values() const;
  std::vector<Complex> to_vector() const;  // empty without values
  // Reads all values of a store; a loop over slots takes values() once.
  Complex at(size_t slot) const { return values()[slot & (period() - 1)]; }
  double mean_square() const;  // of the values
  // Slots of one period that may differ from zero.
  size_t entries() const { return has_data() ? store_->entries(index_) : index_; }

 private:
  static int8_t log2_of(size_t period);  // throws Error if it is no power of two

  // A program of billions of weights has tens of millions of these.
  std::shared_ptr<const PlainStore> store_;
  uint32_t index_ = 0;  // in the store; the entries of a shape
  int8_t log2_period_ = -1;
  bool real_ = true;
};

}  // namespace psm::ckks
