// Where the gradient of a tensor lies: at a fixed place for parameters, and for a tape's tensors in memory
// lent from the first that adds to it until the tensor's own operation has passed it on. Between the two lies
// a small part of a backward pass, so that a few blocks serve a whole model and stay in the caches.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/autograd/arena.h"

namespace psm::nn {

// Blocks of an arena, of any contents. Asked in the same order it gives the same places.
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
  // When the arena has been reset.
  void forget() { free_.clear(); }

 private:
  struct Block {
    Scalar* place;
    size_t count;
  };
  std::vector<Block> free_;
};

template <typename Scalar>
struct LentGradient {
  Arena* arena;
  GradientMemory<Scalar>* memory;
  Scalar* place = nullptr;  // null: not lent now
};

// A pointer to it: null where there is none, or none yet.
template <typename Scalar>
class Gradient {
 public:
  Gradient(Scalar* fixed = nullptr) : fixed_(fixed) {}
  explicit Gradient(LentGradient<Scalar>* lent) : lent_(lent) {}

  operator Scalar*() const { return lent_ ? lent_->place : fixed_; }

  // Whether there is no memory behind a tape's gradient yet: there is, undefined, afterwards.
  bool take(size_t count) const {
    if (lent_ == nullptr || lent_->place) return false;
    lent_->place = lent_->memory->take(*lent_->arena, count);
    return true;
  }
  void give_back(size_t count) const {
    lent_->memory->give_back(lent_->place, count);
    lent_->place = nullptr;
  }

 private:
  Scalar* fixed_ = nullptr;
  LentGradient<Scalar>* lent_ = nullptr;
};

}  // namespace psm::nn
