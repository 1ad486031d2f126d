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
// (gradient.h). Therefore an operation's output must be made after the operation before it was recorded.
//
// Operations and tensors live in the tape's arena: restart() forgets them and keeps the memory. Operations
// are never destroyed, so they must not own anything. A tape without gradients runs operations and forgets
// them, and has no backward(). Scalar is float for training, double for gradient checks. Not thread-safe:
// training gives every thread its own tape.
#pragma once

#include <cstring>
#include <new>
#include <type_traits>
#include <vector>

#include "nn/autograd/arena.h"
#include "nn/autograd/gradient.h"
#include "nn/kernels/bf16_copy.h"
#include "nn/kernels/precision.h"

namespace psm::nn {

template <typename Scalar>
struct Tensor {
  Scalar* value = nullptr;
  Gradient<Scalar> grad;
  int rows = 0, columns = 0;
  Bf16Copy* copy = nullptr;  // of a tape's tensor that products in bf16 may read: its values', once one did

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
    Tensor<Scalar> t{nullptr, nullptr, rows, columns, nullptr};
    t.value = array(t.size());
    if (precision_ == Precision::kBf16) t.copy = new (arena_.allocate(sizeof(Bf16Copy))) Bf16Copy;
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

  template <typename Op>
  void record(Op operation) {
    static_assert(std::is_trivially_destructible_v<Op>);
    operation.forward();
    if (gradients_ == Gradients::kKept)
      operations_.push_back(new (arena_.allocate(sizeof(Kept<Op>))) Kept<Op>(operation));
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
