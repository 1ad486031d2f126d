// Memory for the packed factors of a product. It only grows, so products of the same sizes allocate nothing.
// Each thread has its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/base/buffer.h"

namespace psm::nn {

class GrowingBuffer {
 public:
  // Returns undefined items, aligned to 64 bytes. Earlier items are lost if the buffer had to grow.
  template <typename Item>
  Item* at_least(size_t count) {
    const size_t words = (count * sizeof(Item) + sizeof(uint64_t) - 1) / sizeof(uint64_t);
    if (words > buffer_.size()) buffer_ = Buffer(words);
    return reinterpret_cast<Item*>(buffer_.data());
  }

 private:
  Buffer buffer_;
};

}  // namespace psm::nn
