// One number for each parameter of a model, in huge pages (ckks/base/buffer.h), because products read weights
// down columns, a page for each row (tape.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "ckks/base/buffer.h"

namespace psm::nn {

class FlatArray {
 public:
  FlatArray() = default;
  // Zeros.
  explicit FlatArray(size_t size) : buffer_((size + 1) / 2), size_(size) { std::fill_n(data(), size, 0.0f); }
  explicit FlatArray(std::span<const float> values) : buffer_((values.size() + 1) / 2), size_(values.size()) {
    std::copy(values.begin(), values.end(), data());
  }

  float* data() { return reinterpret_cast<float*>(buffer_.data()); }
  const float* data() const { return reinterpret_cast<const float*>(buffer_.data()); }
  size_t size() const { return size_; }
  std::span<float> all() { return {data(), size_}; }
  std::span<const float> all() const { return {data(), size_}; }

 private:
  Buffer buffer_;
  size_t size_ = 0;
};

}  // namespace psm::nn
