// Memory for one step of training. It is handed out front to back, taken back all at once, and never returned
// to the system. After the first step the same requests find the same chunks. So a step allocates nothing,
// and its buffers stay in the caches.
//
// Chunks ask for huge pages (ckks/base/buffer.h), because products read tensors down their columns, a page
// for each row.
//
// Every block is aligned to 64 bytes. Not thread-safe: each tape has its own arena, each thread its own tape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"

namespace psm::nn {

class Arena {
 public:
  void* allocate(size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (current_ < chunks_.size() && used_ + bytes > bytes_of(chunks_[current_])) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) grow(bytes);
    void* block = reinterpret_cast<std::byte*>(chunks_[current_].data()) + used_;
    used_ += bytes;
    return block;
  }

  // Everything handed out becomes invalid; the memory stays.
  void reset() { current_ = used_ = 0; }

  // How often the system was asked for memory so far.
  size_t growths() const { return chunks_.size(); }
  size_t capacity() const {
    size_t total = 0;
    for (const Buffer& chunk : chunks_) total += bytes_of(chunk);
    return total;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kChunk = size_t{4} << 20;

  static size_t bytes_of(const Buffer& chunk) { return chunk.size() * sizeof(uint64_t); }

  void grow(size_t bytes) {
    const size_t size = std::max(bytes, kChunk);
    try {
      chunks_.emplace_back(size / sizeof(uint64_t));
    } catch (const std::bad_alloc&) {
      throw Error(message("out of memory: training asked for ", size >> 20,
                          " MiB more; use a smaller model or batch"),
                  Error::Kind::kFailed);
    }
    used_ = 0;
  }

  std::vector<Buffer> chunks_;
  size_t current_ = 0, used_ = 0;
};

}  // namespace psm::nn
