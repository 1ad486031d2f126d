// Memory for secrets: wiped before it is given back, and never copied by accident.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace psm {

// Overwrites `bytes` bytes with zeros in a way the compiler may not leave out.
void secure_zero(void* data, size_t bytes);

// An array of plain values that is zero at first, is wiped on destruction, can be moved and cannot be copied.
template <typename T>
class SecretVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  SecretVector() = default;
  explicit SecretVector(size_t size) : values_(new T[size]()), size_(size) {}
  SecretVector(SecretVector&& other) noexcept { swap(other); }
  SecretVector& operator=(SecretVector&& other) noexcept {
    SecretVector taken(std::move(other));
    swap(taken);
    return *this;
  }
  SecretVector(const SecretVector&) = delete;
  SecretVector& operator=(const SecretVector&) = delete;
  ~SecretVector() {
    if (values_) secure_zero(values_.get(), size_ * sizeof(T));
  }

  size_t size() const { return size_; }
  T* data() { return values_.get(); }
  const T* data() const { return values_.get(); }
  T& operator[](size_t i) { return values_[i]; }
  const T& operator[](size_t i) const { return values_[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  void swap(SecretVector& other) noexcept {
    std::swap(values_, other.values_);
    std::swap(size_, other.size_);
  }

  std::unique_ptr<T[]> values_;
  size_t size_ = 0;
};

}  // namespace psm
