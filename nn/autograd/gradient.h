// The place of a tensor's gradient. Parameters have a fixed place. A tape's tensor borrows memory, from the
// first operation that adds to its gradient until the tensor's own operation has used it. That is a small
// part of a backward pass, so a few blocks serve a whole model and stay in the caches. A gradient is
// undefined until the first addition, which writes it: nothing is set to zero beforehand.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/autograd/arena.h"

namespace psm::nn {

// Blocks of an arena, with undefined contents. Requests in the same order get the same places.
template <typename Scalar>
class GradientMemory {
 public:
  Scalar* take(Arena& arena, size_t count) {
    for (size_t i = free_.size(); i-- > 0;)
      if (free_[i].count == count) {
        Scalar* const place = free_[i].place;
        free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
        return place;
      }
    return static_cast<Scalar*>(arena.allocate(count * sizeof(Scalar)));
  }
  void give_back(Scalar* place, size_t count) { free_.push_back({place, count}); }
  // Call this when the arena has been reset.
  void forget() { free_.clear(); }

 private:
  struct Block {
    Scalar* place;
    size_t count;
  };
  std::vector<Block> free_;
};

template <typename Scalar>
struct PlacedGradient {
  Arena* arena = nullptr;
  GradientMemory<Scalar>* memory = nullptr;
  Scalar* fixed = nullptr;  // in place of memory that is lent
  Scalar* place = nullptr;  // null: undefined now
};

// A pointer to a gradient, null if there is none, or none yet. A Gradient made from a plain pointer is
// defined, and operations add to it.
template <typename Scalar>
class Gradient {
 public:
  Gradient(Scalar* defined = nullptr) : defined_(defined) {}
  explicit Gradient(PlacedGradient<Scalar>* placed) : placed_(placed) {}

  operator Scalar*() const { return placed_ ? placed_->place : defined_; }

  // Gives the gradient a place. Returns whether it was undefined; its contents are undefined then.
  bool take(size_t count) const {
    if (placed_ == nullptr || placed_->place) return false;
    placed_->place = placed_->fixed ? placed_->fixed : placed_->memory->take(*placed_->arena, count);
    return true;
  }
  void give_back(size_t count) const {
    placed_->memory->give_back(placed_->place, count);
    placed_->place = nullptr;
  }

 private:
  Scalar* defined_ = nullptr;
  PlacedGradient<Scalar>* placed_ = nullptr;
};

}  // namespace psm::nn
