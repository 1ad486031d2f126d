// Memory for one step of training: handed out front to back, taken back all at once, never returned to the
// system. After the first step the same requests find the same chunks, so that a step allocates nothing and
// its buffers stay warm in the caches and the page tables.
//
// Every block is aligned to 64 bytes. Not thread-safe: one arena a tape, one tape a thread.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <vector>

#include "ckks/base/error.h"

namespace psm::nn {

class Arena {
 public:
  void* allocate(size_t bytes) {
    bytes = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    while (current_ < chunks_.size() && used_ + bytes > chunks_[current_].size) {
      ++current_;
      used_ = 0;
    }
    if (current_ == chunks_.size()) grow(bytes);
    void* block = chunks_[current_].memory.get() + used_;
    used_ += bytes;
    return block;
  }

  // Everything handed out becomes invalid; the memory stays.
  void reset() { current_ = used_ = 0; }

  // How often memory was asked of the system so far.
  size_t growths() const { return chunks_.size(); }
  size_t capacity() const {
    size_t total = 0;
    for (const Chunk& chunk : chunks_) total += chunk.size;
    return total;
  }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kChunk = size_t{4} << 20;

  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  struct Chunk {
    std::unique_ptr<std::byte, Free> memory;
    size_t size;
  };

  void grow(size_t bytes) {
    const size_t size = bytes > kChunk ? bytes : kChunk;
    auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, size));
    if (memory == nullptr)
      throw Error(message("out of memory: training asked for ", size >> 20,
                          " MiB more; use a smaller model or batch"),
                  Error::Kind::kFailed);
    chunks_.push_back({std::unique_ptr<std::byte, Free>(memory), size});
    used_ = 0;
  }

  std::vector<Chunk> chunks_;
  size_t current_ = 0, used_ = 0;
};

}  // namespace psm::nn
