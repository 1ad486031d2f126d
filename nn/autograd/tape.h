// Reverse-mode differentiation on a tape.
//
// A Tensor is a matrix of rows x columns, row-major and contiguous, with its value and the gradient of the
// loss with respect to it. An operation is one small struct that holds the tensors it reads and writes and
// has
//
//     void forward();    computes the output's value from the inputs' values
//     void backward();   inputs' gradients += (Jacobian transposed) * output's gradient
//
// Tape::record runs forward() at once and remembers the operation; Tape::backward runs the remembered
// backward() in reverse. Gradients accumulate, so a tensor may be used many times. The gradient of a tape's
// tensor is undefined at first. Each backward() calls start_gradient() of an input before it adds, or calls
// first_gradient() and writes. The gradient has memory from then on until the tensor's own operation has run
// (Gradient). Therefore an operation's output must be made after the operation before it was recorded.
//
// Operations and tensors live in the tape's arena: restart() forgets them and keeps the memory. Operations
// are never destroyed, so they must not own anything. A tape without gradients runs operations and forgets
// them, and has no backward(). Scalar is float for training, double for gradient checks. Not thread-safe:
// training gives every thread its own tape.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <new>
#include <type_traits>
#include <vector>

#include "ckks/base/buffer.h"
#include "ckks/base/error.h"
#include "nn/kernels/gemm.h"

namespace psm::nn {

// Memory for one step of training. It is handed out front to back and taken back all at once. After the first
// step the same requests find the same chunks. So a step allocates nothing, and its buffers stay in the caches.
// A step that needs more is followed by one chunk for all of it and an eighth more. Every block is aligned to
// 64 bytes. Chunks ask for huge pages (ckks/base/buffer.h), because products read tensors down their columns, a
// page for each row.
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
    handed_out_ += bytes;
    return block;
  }

  // Everything handed out becomes invalid. The memory stays, or all of it is replaced by one chunk: requests that
  // are a little larger each time fit into no chunk of before, which would stay behind unused.
  void reset() {
    if (kept_ > 0 && chunks_.size() > kept_) {
      chunks_.clear();
      grow(handed_out_ + handed_out_ / 8);
    }
    kept_ = chunks_.size();
    current_ = used_ = handed_out_ = 0;
  }

  // The number of chunks. It changes only if the system is asked for memory.
  size_t growths() const { return chunks_.size(); }

 private:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kChunk = size_t{4} << 20;

  static size_t bytes_of(const Buffer& chunk) { return chunk.size() * sizeof(uint64_t); }

  void grow(size_t bytes) {
    const size_t size = std::max(bytes, kChunk);
    try {
      chunks_.emplace_back(size / sizeof(uint64_t));
    } catch (const std::bad_alloc&) {
      throw Error(message("out of memory: a model's tensors need ", size >> 20,
                          " MiB more; use a smaller model or batch"),
                  Error::Kind::kFailed);
    }
    used_ = 0;
  }

  std::vector<Buffer> chunks_;
  size_t kept_ = 0;  // chunks at the last reset
  size_t current_ = 0, used_ = 0;
  size_t handed_out_ = 0;  // bytes, from the last reset on
};

// Blocks of an arena for gradients, with undefined contents. Each is lent for a small part of a backward pass,
// so a few blocks serve a whole model and stay in the caches. Requests in the same order get the same places.
template <typename Scalar>
class GradientMemory {
 public:
  Scalar* take(Arena& arena, size_t count) {
    std::vector<Scalar*>& free = free_[count];
    if (free.empty()) return static_cast<Scalar*>(arena.allocate(count * sizeof(Scalar)));
    Scalar* const place = free.back();
    free.pop_back();
    return place;
  }
  void give_back(Scalar* place, size_t count) { free_[count].push_back(place); }
  // Call this when the arena has been reset.
  void forget() {
    for (auto& [count, free] : free_) free.clear();
  }

 private:
  std::map<size_t, std::vector<Scalar*>> free_;  // by size
};

template <typename Scalar>
struct PlacedGradient {
  Arena* arena = nullptr;
  GradientMemory<Scalar>* memory = nullptr;
  Scalar* fixed = nullptr;  // a parameter's, in place of memory that is lent
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

template <typename Scalar>
struct Tensor {
  Scalar* value = nullptr;
  Gradient<Scalar> grad;
  int rows = 0, columns = 0;

  size_t size() const { return static_cast<size_t>(rows) * columns; }
  Scalar* row(int r) const { return value + static_cast<size_t>(r) * columns; }
  Scalar* grad_row(int r) const { return grad + static_cast<size_t>(r) * columns; }

  // Call it before adding to the gradient: sets the gradient to zero if it is undefined.
  void start_gradient() const {
    if (first_gradient()) std::memset(grad, 0, size() * sizeof(Scalar));
  }
  // Returns whether the caller must write the whole gradient instead of adding to it. `grad` may be null
  // before.
  bool first_gradient() const { return grad.take(size()); }
};

enum class Gradients { kKept, kNone };

template <typename Scalar>
class Tape {
 public:
  // `precision` is for the operations' matrix products.
  explicit Tape(Gradients gradients = Gradients::kKept, Precision precision = Precision::kFp32)
      : gradients_(gradients), precision_(precision) {}
  Tape(const Tape&) = delete;  // tensors point into it
  Tape& operator=(const Tape&) = delete;

  Precision precision() const { return precision_; }

  // A tensor with an undefined value. Its gradient is undefined, or absent on a tape without gradients.
  Tensor<Scalar> tensor(int rows, int columns) {
    Tensor<Scalar> t{nullptr, nullptr, rows, columns};
    t.value = array(t.size());
    if (gradients_ == Gradients::kNone) return t;
    typedef PlacedGradient<Scalar> Placed;
    t.grad = Gradient<Scalar>(new (arena_.allocate(sizeof(Placed))) Placed{&arena_, &gradient_memory_});
    made_.push_back({t, operations_.size()});
    return t;
  }

  // Memory that lasts until restart(), undefined.
  Scalar* array(size_t count) { return array_of<Scalar>(count); }
  template <typename Item>
  Item* array_of(size_t count) {
    return static_cast<Item*>(arena_.allocate(count * sizeof(Item)));
  }

  // Returns the operation's result, where that is one tensor: its member y.
  template <typename Op>
  auto record(Op operation) {
    static_assert(std::is_trivially_destructible_v<Op>);
    operation.forward();
    if (gradients_ == Gradients::kKept)
      operations_.push_back(new (arena_.allocate(sizeof(Kept<Op>))) Kept<Op>(operation));
    if constexpr (requires { operation.y; }) return operation.y;
  }

  // Back-propagates from a 1 x 1 tensor whose gradient becomes 1.
  void backward(const Tensor<Scalar>& loss) {
    PSM_CHECK(loss.size() == 1 && gradients_ == Gradients::kKept, loss.rows, " x ", loss.columns);
    loss.start_gradient();
    loss.grad[0] = 1;
    size_t made = made_.size();
    for (size_t i = operations_.size(); i-- > 0;) {
      const size_t end = made;
      for (; made > 0 && made_[made - 1].before >= i; --made) made_[made - 1].tensor.start_gradient();
      operations_[i]->backward();
      for (size_t t = made; t < end; ++t) made_[t].tensor.grad.give_back(made_[t].tensor.size());
    }
  }

  void restart() {
    operations_.clear();
    made_.clear();
    gradient_memory_.forget();
    arena_.reset();
  }

  const Arena& arena() const { return arena_; }

 private:
  struct Operation {
    virtual void backward() = 0;

   protected:
    ~Operation() = default;
  };
  template <typename Op>
  struct Kept final : Operation {
    explicit Kept(const Op& operation) : op(operation) {}
    void backward() override { op.backward(); }
    Op op;
  };

  Gradients gradients_;
  Precision precision_;
  Arena arena_;
  std::vector<Operation*> operations_;
  struct Made {
    Tensor<Scalar> tensor;
    size_t before;  // the operation recorded next
  };
  std::vector<Made> made_;
  GradientMemory<Scalar> gradient_memory_;
};

}  // namespace psm::nn
