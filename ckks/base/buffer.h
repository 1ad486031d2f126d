// Pooled, page-aligned storage for residues.
//
// The first touch of a fresh page costs more than the arithmetic done on it. So buffers are cut from large
// mappings that ask for huge pages. On destruction they go back to a pool, which joins neighbours, so that
// touched memory serves any size. The pool holds little more than the most that was in use at once. Contents
// are undefined on construction. The pool is thread-safe; a Buffer is as thread-safe as an array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace psm {

// Memory that the process does not read and write itself: a device's (ckks/device/device.h). Addresses are
// those that take() gave, except where a name ends in `_host`. Thread-safe.
class Memory {
 public:
  virtual ~Memory() = default;
  // Throws Error if there is no room.
  virtual uint64_t* take(size_t words) = 0;
  virtual void give_back(uint64_t* data, size_t words) noexcept = 0;
  virtual void copy(uint64_t* to, const uint64_t* from, size_t words) = 0;
  virtual void upload(uint64_t* to, const uint64_t* from_host, size_t words) = 0;
  virtual void download(uint64_t* to_host, const uint64_t* from, size_t words) = 0;
};

// Gives the words of a buffer back to where they were taken, wiped if that was asked for.
struct BufferOwner {
  Memory* memory = nullptr;
  size_t size = 0, taken_bytes = 0;  // words, and the whole pages behind them
  bool zeroising = false;
  void operator()(uint64_t* data) const noexcept;
};

class Buffer {
 public:
  Buffer() = default;
  // Takes `size` words with undefined contents. A null `memory` is the host's own.
  explicit Buffer(size_t size, Memory* memory = nullptr) : Buffer(size, memory, false) {}
  // Takes words of the host's memory that are wiped on destruction. Their pages are left out of core dumps
  // and are not swapped out, as far as the process may lock memory (ulimit -l). For anything that a secret
  // key can be computed from, and for decrypted values.
  static Buffer zeroising(size_t size) { return Buffer(size, nullptr, true); }

  size_t size() const { return data_ ? data_.get_deleter().size : 0; }
  bool empty() const { return data_ == nullptr; }
  bool is_zeroising() const { return data_.get_deleter().zeroising; }
  Memory* memory() const { return data_.get_deleter().memory; }
  uint64_t* data() { return data_.get(); }
  const uint64_t* data() const { return data_.get(); }
  uint64_t& operator[](size_t i) { return data()[i]; }
  const uint64_t& operator[](size_t i) const { return data()[i]; }
  uint64_t* begin() { return data(); }
  uint64_t* end() { return data() + size(); }
  const uint64_t* begin() const { return data(); }
  const uint64_t* end() const { return data() + size(); }

 private:
  Buffer(size_t size, Memory* memory, bool zeroising);

  std::unique_ptr<uint64_t, BufferOwner> data_;
};

// Copies words from one buffer to a place in another, between any two memories. Zeroising buffers stay on the host.
void copy_words(Buffer& to, size_t to_place, const Buffer& from, size_t from_place, size_t words);

namespace buffer_pool {

struct Statistics {
  size_t bytes_in_use = 0;  // in live buffers
  size_t bytes_pooled = 0;  // in the pool, backed by memory
  size_t peak_in_use = 0;   // the most bytes_in_use has been since the last reset_peak()
};
Statistics statistics();
// Starts the peak anew from what is in use now.
void reset_peak();

// Free buffers keep up to 2 GiB of memory, as much as a bootstrap at N = 2^16 takes and returns. The rest
// goes back to the system. make_room() raises this limit if needed, so that the pool can keep a buffer of
// `bytes` in addition to what it holds now.
void make_room(size_t bytes);
// Gives the memory of all free buffers back to the system.
void trim();

}  // namespace buffer_pool
}  // namespace psm
