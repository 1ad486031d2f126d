// Pooled, page-aligned storage for residues.
//
// The first touch of a fresh page costs more than the arithmetic done on it, so buffers are cut from large
// mappings that ask for huge pages, and on destruction go back to a pool, where neighbours are joined: memory
// that was touched serves any size, and what the pool holds stays near the most that was in use at once.
// Contents are undefined on construction. The pool is thread-safe; a Buffer is as thread-safe as an array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace psm {

class Buffer {
 public:
  Buffer() = default;
  // `size` words, whose contents are whatever the memory held before.
  explicit Buffer(size_t size);
  // The same, wiped on destruction, in pages that are no part of a core dump and, as far as the process may
  // lock memory (ulimit -l), are not swapped out: for anything a secret key can be computed from, and for
  // what was decrypted.
  static Buffer zeroising(size_t size);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool is_zeroising() const { return zeroising_; }
  uint64_t* data() { return data_; }
  const uint64_t* data() const { return data_; }
  uint64_t& operator[](size_t i) { return data_[i]; }
  const uint64_t& operator[](size_t i) const { return data_[i]; }
  uint64_t* begin() { return data_; }
  uint64_t* end() { return data_ + size_; }
  const uint64_t* begin() const { return data_; }
  const uint64_t* end() const { return data_ + size_; }

 private:
  Buffer(size_t size, bool zeroising);
  void swap(Buffer& other) noexcept;

  uint64_t* data_ = nullptr;
  size_t size_ = 0;
  size_t taken_bytes_ = 0;  // whole pages behind it
  bool zeroising_ = false;
};

namespace buffer_pool {

struct Statistics {
  size_t bytes_in_use = 0;  // in live buffers
  size_t bytes_pooled = 0;  // in the pool, backed by memory
  size_t peak_in_use = 0;   // the most bytes_in_use has been since the last reset_peak()
};
Statistics statistics();
// Lets the peak count from what is in use now.
void reset_peak();

// Memory that free buffers may keep; what is freed beyond it goes back to the system. 2 GiB at first: what a
// bootstrap at N = 2^16 takes and returns.
void set_pooled_limit(size_t bytes);
// Sets the limit if it is lower.
void raise_pooled_limit(size_t bytes);
// Gives the memory of all free buffers back to the system.
void trim();

}  // namespace buffer_pool
}  // namespace psm
