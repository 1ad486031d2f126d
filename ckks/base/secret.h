// An array for secrets. Its memory is a zeroising buffer (buffer.h): zero at first, wiped at the end.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>

#include "ckks/base/buffer.h"

namespace psm {

// A vector of plain values. It can be moved, not copied.
template <typename T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 64);

 public:
  SecretVector() = default;
  explicit SecretVector(size_t size)
      : memory_(Buffer::zeroising((size * sizeof(T) + sizeof(uint64_t) - 1) / sizeof(uint64_t))),
        size_(size) {
    std::uninitialized_value_construct_n(data(), size);
  }

  size_t size() const { return memory_.empty() ? 0 : size_; }
  T* data() { return reinterpret_cast<T*>(memory_.data()); }
  const T* data() const { return reinterpret_cast<const T*>(memory_.data()); }
  T& operator[](size_t i) { return data()[i]; }
  const T& operator[](size_t i) const { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size(); }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size(); }

 private:
  Buffer memory_;
  size_t size_ = 0;
};

}  // namespace psm
