// Memory for what a product packs: it only grows, so that products of the same sizes ask for none. One a
// thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "ckks/base/buffer.h"

namespace psm::nn {

class GrowingBuffer {
 public:
  // Undefined items, aligned to 64 bytes; those handed out before are lost if it had to grow.
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
