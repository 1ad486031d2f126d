#include "attention/attention_ops.h"

#include <cmath>

#include "attention/power_softmax.h"
#include "attention/softmax.h"
#include "nn/gemm.h"

namespace psm {
namespace {

// Where the block of sequence b and head h starts, in tensors of tokens and in tensors of scores.
struct Block {
  std::size_t tokens, scores;
};

template <typename Visit>
void for_each_block(const AttentionShape& shape, Visit visit) {
  const std::size_t d = static_cast<std::size_t>(shape.heads) * shape.head_dim, length = shape.length;
  for (int b = 0; b < shape.sequences; ++b)
    for (int h = 0; h < shape.heads; ++h)
      visit(Block{b * length * d + static_cast<std::size_t>(h) * shape.head_dim,
                  (static_cast<std::size_t>(b) * shape.heads + h) * length * length});
}

template <typename Scalar>
struct ScoresOp final : Operation {
  AttentionShape shape;
  Tensor<Scalar> q, k, s;
  ScoresOp(const AttentionShape& shape_, Tensor<Scalar> q_, Tensor<Scalar> k_, Tensor<Scalar> s_)
      : shape(shape_), q(q_), k(k_), s(s_) {}

  void forward() {
    const int T = shape.length, dims = shape.head_dim, d = q.columns;
    const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(dims));
    for_each_block(shape, [&](Block at) {
      Scalar* out = s.value + at.scores;
      gemm(Transpose::kNo, Transpose::kYes, {T, T, dims}, scale, q.value + at.tokens, d, k.value + at.tokens,
           d, Scalar(0), out, T);
      for (int t = 0; t < T; ++t) std::fill(out + t * T + t + 1, out + (t + 1) * T, Scalar(0));
    });
  }

  // Whoever uses s leaves the gradient of the masked entries at zero.
  void backward() override {
    const int T = shape.length, dims = shape.head_dim, d = q.columns;
    const Scalar scale = 1 / std::sqrt(static_cast<Scalar>(dims));
    for_each_block(shape, [&](Block at) {
      const Scalar* ds = s.grad + at.scores;
      gemm(Transpose::kNo, Transpose::kNo, {T, dims, T}, scale, ds, T, k.value + at.tokens, d, Scalar(1),
           q.grad + at.tokens, d);
      gemm(Transpose::kYes, Transpose::kNo, {T, dims, T}, scale, ds, T, q.value + at.tokens, d, Scalar(1),
           k.grad + at.tokens, d);
    });
  }
};

template <typename Scalar>
struct WeightsOp final : Operation {
  int length;
  bool softmax;
  PowerForm form;
  PowerParameters parameters;
  Tensor<Scalar> s, w;
  Scalar* row_grad;  // [length]
  WeightsOp(int length_, const ModelConfig& config, Tensor<Scalar> s_, Tensor<Scalar> w_, Scalar* row_grad_)
      : length(length_),
        softmax(config.attention == AttentionKind::kSoftmax),
        form(config.form),
        parameters(PowerParameters::of(config)),
        s(s_),
        w(w_),
        row_grad(row_grad_) {}

  void forward() {
    for (int r = 0; r < s.rows; ++r) {
      const int active = r % length + 1;
      if (softmax)
        softmax_row(s.row(r), active, w.row(r));
      else
        power_softmax(form, s.row(r), active, parameters, w.row(r));
      std::fill(w.row(r) + active, w.row(r) + length, Scalar(0));
    }
  }

  void backward() override {
    for (int r = 0; r < s.rows; ++r) {
      const int active = r % length + 1;
      if (softmax)
        softmax_row_vjp(w.row(r), w.grad_row(r), active, row_grad);
      else
        power_softmax_vjp(form, s.row(r), w.row(r), w.grad_row(r), active, parameters, row_grad);
      Scalar* ds = s.grad_row(r);
#pragma omp simd
      for (int j = 0; j < active; ++j) ds[j] += row_grad[j];
    }
  }
};

template <typename Scalar>
struct MixtureOp final : Operation {
  AttentionShape shape;
  Tensor<Scalar> w, v, o;
  MixtureOp(const AttentionShape& shape_, Tensor<Scalar> w_, Tensor<Scalar> v_, Tensor<Scalar> o_)
      : shape(shape_), w(w_), v(v_), o(o_) {}

  void forward() {
    const int T = shape.length, dims = shape.head_dim, d = v.columns;
    for_each_block(shape, [&](Block at) {
      gemm(Transpose::kNo, Transpose::kNo, {T, dims, T}, Scalar(1), w.value + at.scores, T,
           v.value + at.tokens, d, Scalar(0), o.value + at.tokens, d);
    });
  }

  void backward() override {
    const int T = shape.length, dims = shape.head_dim, d = v.columns;
    for_each_block(shape, [&](Block at) {
      gemm(Transpose::kNo, Transpose::kYes, {T, T, dims}, Scalar(1), o.grad + at.tokens, d,
           v.value + at.tokens, d, Scalar(1), w.grad + at.scores, T);
      gemm(Transpose::kYes, Transpose::kNo, {T, dims, T}, Scalar(1), w.value + at.scores, T,
           o.grad + at.tokens, d, Scalar(1), v.grad + at.tokens, d);
    });
  }
};

template <typename Scalar>
struct DenominatorsOp final : Operation {
  int length;
  PowerParameters parameters;
  Tensor<Scalar> s, denominators;
  DenominatorsOp(int length_, const ModelConfig& config, Tensor<Scalar> s_, Tensor<Scalar> denominators_)
      : length(length_), parameters(PowerParameters::of(config)), s(s_), denominators(denominators_) {}

  void forward() {
    for (int r = 0; r < s.rows; ++r)
      denominators.value[r] = length_agnostic_denominator(s.row(r), r % length + 1, parameters);
  }

  void backward() override {
    const int p = parameters.power;
    for (int r = 0; r < s.rows; ++r) {
      const int active = r % length + 1;
      const Scalar scale = denominators.grad[r] * p / active;
      if (scale == 0) continue;
      const Scalar* x = s.row(r);
      Scalar* ds = s.grad_row(r);
      for (int j = 0; j < active; ++j) ds[j] += scale * x[j] * even_power(x[j], p - 2);
    }
  }
};

}  // namespace

template <typename Scalar>
Tensor<Scalar> attention_scores(Tape<Scalar>& tape, const AttentionShape& shape, Tensor<Scalar> q,
                                Tensor<Scalar> k) {
  PSM_CHECK(q.rows == shape.sequences * shape.length && q.columns == shape.heads * shape.head_dim, q.rows);
  Tensor<Scalar> s = tape.tensor(shape.sequences * shape.heads * shape.length, shape.length);
  tape.record(ScoresOp<Scalar>(shape, q, k, s));
  return s;
}

template <typename Scalar>
Tensor<Scalar> attention_weights(Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config,
                                 Tensor<Scalar> scores) {
  Tensor<Scalar> w = tape.tensor(scores.rows, scores.columns);
  tape.record(WeightsOp<Scalar>(shape.length, config, scores, w, tape.array(shape.length)));
  return w;
}

template <typename Scalar>
Tensor<Scalar> attention_mixture(Tape<Scalar>& tape, const AttentionShape& shape, Tensor<Scalar> weights,
                                 Tensor<Scalar> v) {
  Tensor<Scalar> o = tape.tensor(v.rows, v.columns);
  tape.record(MixtureOp<Scalar>(shape, weights, v, o));
  return o;
}

template <typename Scalar>
Tensor<Scalar> attention_denominators(Tape<Scalar>& tape, const AttentionShape& shape,
                                      const ModelConfig& config, Tensor<Scalar> scores) {
  Tensor<Scalar> denominators = tape.tensor(scores.rows, 1);
  tape.record(DenominatorsOp<Scalar>(shape.length, config, scores, denominators));
  return denominators;
}

#define PSM_INSTANTIATE(Scalar)                                                                            \
  template Tensor<Scalar> attention_scores(Tape<Scalar>&, const AttentionShape&, Tensor<Scalar>,           \
                                           Tensor<Scalar>);                                                \
  template Tensor<Scalar> attention_weights(Tape<Scalar>&, const AttentionShape&, const ModelConfig&,      \
                                            Tensor<Scalar>);                                               \
  template Tensor<Scalar> attention_mixture(Tape<Scalar>&, const AttentionShape&, Tensor<Scalar>,          \
                                            Tensor<Scalar>);                                               \
  template Tensor<Scalar> attention_denominators(Tape<Scalar>&, const AttentionShape&, const ModelConfig&, \
                                                 Tensor<Scalar>);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm
