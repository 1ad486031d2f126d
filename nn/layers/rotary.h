// Rotary position embedding (RoPE) in GPT-NeoX's layout. In each head the first `rotary` dimensions turn, the
// pair (i, i + rotary/2) by the angle a(t, i) = t * base^(-2i / rotary), t the position in the sequence:
//
//     y_i = x_i cos a - x_{i+rotary/2} sin a,    y_{i+rotary/2} = x_i sin a + x_{i+rotary/2} cos a
//
// The Jacobian is orthogonal: the gradient turns back by the same angle.
#pragma once

#include <cmath>
#include <vector>

#include "nn/autograd/tape.h"

namespace psm::nn {

// cos and sin of a(t, i): [context][rotary/2] each. Made once for a model.
template <typename Scalar>
struct RotaryTable {
  int rotary;
  std::vector<Scalar> cosine, sine;

  RotaryTable(int context, int rotary_dims, double base) : rotary(rotary_dims) {
    for (int t = 0; t < context; ++t)
      for (int i = 0; i < rotary / 2; ++i) {
        const double angle = t * std::pow(base, -2.0 * i / rotary);
        cosine.push_back(static_cast<Scalar>(std::cos(angle)));
        sine.push_back(static_cast<Scalar>(std::sin(angle)));
      }
  }
};

template <typename Scalar>
struct RotaryOp {
  const RotaryTable<Scalar>* table;
  Tensor<Scalar> x, y;
  int length, heads;  // row r is position r % length

  // out (+)= in turned by the row's angle times sign.
  template <bool kAccumulate>
  void turn(const Scalar* in, Scalar* out, int r, Scalar sign) const {
    const int dims = x.columns / heads, half = table->rotary / 2;
    const Scalar* c = table->cosine.data() + static_cast<size_t>(r % length) * half;
    const Scalar* s = table->sine.data() + static_cast<size_t>(r % length) * half;
    auto put = [](Scalar& target, Scalar value) { target = kAccumulate ? target + value : value; };
    for (int h = 0; h < heads; ++h, in += dims, out += dims) {
      for (int i = 0; i < half; ++i) {
        const Scalar a = in[i], b = in[i + half], sine = sign * s[i];
        put(out[i], a * c[i] - b * sine);
        put(out[i + half], a * sine + b * c[i]);
      }
      for (int i = 2 * half; i < dims; ++i) put(out[i], in[i]);
    }
  }

  void forward() {
    for (int r = 0; r < x.rows; ++r) turn<false>(x.row(r), y.row(r), r, 1);
  }
  void backward() {
    x.start_gradient();
    for (int r = 0; r < x.rows; ++r) turn<true>(y.grad_row(r), x.grad_row(r), r, -1);
  }
};

// The table must outlive the tape's backward pass.
template <typename Scalar>
Tensor<Scalar> rotate_pairs(Tape<Scalar>& tape, const RotaryTable<Scalar>& table, Tensor<Scalar> x,
                            int length, int heads) {
  if (table.rotary == 0) return x;
  return tape.record(RotaryOp<Scalar>{&table, x, tape.tensor(x.rows, x.columns), length, heads});
}

}  // namespace psm::nn
