#include "attention/attention_ops.h"

#include <algorithm>
#include <cmath>

#include "attention/power_softmax.h"
#include "attention/row_weights.h"
#include "nn/gemm.h"

namespace psm {
namespace {

// Where the block of sequence b and head h starts, in tensors of tokens and in tensors of scores.
struct Block {
  std::size_t tokens, scores;
};

// Rows of queries that are computed at once: they read no key after their last, and their weights stay in the
// second-level cache.
constexpr int kQueries = 64;

// visit(block, first, rows): the queries first .. first + rows of one head of one sequence, in order. Of a block's
// T x T scores they see rows x (first + rows), and of those only what is below the diagonal.
template <typename Visit>
void for_each_block(const AttentionShape& shape, Visit visit) {
  const std::size_t d = static_cast<std::size_t>(shape.heads) * shape.head_dim, length = shape.length;
  for (int b = 0; b < shape.sequences; ++b)
    for (int h = 0; h < shape.heads; ++h)
      for (int first = 0; first < shape.length; first += kQueries)
        visit(Block{b * length * d + static_cast<std::size_t>(h) * shape.head_dim,
                    (static_cast<std::size_t>(b) * shape.heads + h) * length * length},
              first, std::min(kQueries, shape.length - first));
}

// s <- q k' / sqrt(d_k) and its vector-Jacobian product for the rows of one visit; s and ds begin at the first row.
template <typename Scalar>
struct ScoreProducts {
  AttentionShape shape;
  Tensor<Scalar> q, k;

  Scalar scale() const { return 1 / std::sqrt(static_cast<Scalar>(shape.head_dim)); }
  std::size_t queries(Block at, int first) const { return at.tokens + static_cast<std::size_t>(first) * q.columns; }

  void forward(Block at, int first, int rows, Scalar* s) const {
    gemm(Transpose::kNo, Transpose::kYes, {rows, first + rows, shape.head_dim}, scale(), q.value + queries(at, first),
         q.columns, k.value + at.tokens, k.columns, Scalar(0), s, shape.length);
  }

  // ds is zero above the diagonal.
  void backward(Block at, int first, int rows, const Scalar* ds) const {
    gemm(Transpose::kNo, Transpose::kNo, {rows, shape.head_dim, first + rows}, scale(), ds, shape.length,
         k.value + at.tokens, k.columns, Scalar(1), q.grad + queries(at, first), q.columns);
    gemm(Transpose::kYes, Transpose::kNo, {first + rows, shape.head_dim, rows}, scale(), ds, shape.length,
         q.value + queries(at, first), q.columns, Scalar(1), k.grad + at.tokens, k.columns);
  }
};

template <typename Scalar>
struct ScoresOp final : Operation {
  ScoreProducts<Scalar> products;
  Tensor<Scalar> s;
  ScoresOp(const AttentionShape& shape, Tensor<Scalar> q, Tensor<Scalar> k, Tensor<Scalar> s_)
      : products{shape, q, k}, s(s_) {}

  void forward() {
    const int T = products.shape.length;
    for_each_block(products.shape, [&](Block at, int first, int rows) {
      Scalar* out = s.value + at.scores + static_cast<std::size_t>(first) * T;
      products.forward(at, first, rows, out);
      for (int i = 0; i < rows; ++i) std::fill(out + i * T + first + i + 1, out + (i + 1) * T, Scalar(0));
    });
  }

  // Whoever uses s leaves the gradient of the masked entries at zero.
  void backward() override {
    for_each_block(products.shape, [&](Block at, int first, int rows) {
      products.backward(at, first, rows, s.grad + at.scores + static_cast<std::size_t>(first) * products.shape.length);
    });
  }
};

template <typename Scalar>
struct AttentionOp final : Operation {
  ModelConfig config;
  ScoreProducts<Scalar> products;
  Tensor<Scalar> v, s, o;                // s.value == nullptr: scores are not kept
  Scalar *scores, *weights, *gradients;  // [kQueries][T] each: those of one visit
  AttentionOp(const AttentionShape& shape, const ModelConfig& config_, Tensor<Scalar> q, Tensor<Scalar> k,
              Tensor<Scalar> v_, Tensor<Scalar> s_, Tensor<Scalar> o_, Scalar* scratch)
      : config(config_),
        products{shape, q, k},
        v(v_),
        s(s_),
        o(o_),
        scores(scratch),
        weights(scores + static_cast<std::size_t>(kQueries) * shape.length),
        gradients(weights + static_cast<std::size_t>(kQueries) * shape.length) {}

  // The scores of a visit, its weights in `weights`.
  const Scalar* weigh(Block at, int first, int rows) const {
    const int T = products.shape.length;
    const Scalar* x = scores;
    if (s.value)
      x = s.value + at.scores + static_cast<std::size_t>(first) * T;
    else
      products.forward(at, first, rows, scores);
    for (int i = 0; i < rows; ++i) {
      const int active = first + i + 1;
      Scalar* w = weights + static_cast<std::size_t>(i) * T;
      row_weights(config, x + static_cast<std::size_t>(i) * T, active, w);
      std::fill(w + active, w + first + rows, Scalar(0));
    }
    return x;
  }

  void forward() {
    const int T = products.shape.length, dims = products.shape.head_dim, d = v.columns;
    for_each_block(products.shape, [&](Block at, int first, int rows) {
      weigh(at, first, rows);
      gemm(Transpose::kNo, Transpose::kNo, {rows, dims, first + rows}, Scalar(1), weights, T, v.value + at.tokens, d,
           Scalar(0), o.value + products.queries(at, first), d);
    });
  }

  void backward() override {
    const int T = products.shape.length, dims = products.shape.head_dim, d = v.columns;
    for_each_block(products.shape, [&](Block at, int first, int rows) {
      const Scalar* x = weigh(at, first, rows);
      const Scalar* grad_o = o.grad + products.queries(at, first);
      gemm(Transpose::kYes, Transpose::kNo, {first + rows, dims, rows}, Scalar(1), weights, T, grad_o, d, Scalar(1),
           v.grad + at.tokens, d);
      gemm(Transpose::kNo, Transpose::kYes, {rows, first + rows, dims}, Scalar(1), grad_o, d, v.value + at.tokens, d,
           Scalar(0), gradients, T);
      for (int i = 0; i < rows; ++i) {
        const std::size_t row = static_cast<std::size_t>(i) * T;
        const int active = first + i + 1;
        Scalar* g = gradients + row;  // of the weights, then in place of the scores
        row_weights_vjp(config, x + row, weights + row, g, active, g);
        std::fill(g + active, g + first + rows, Scalar(0));
        if (!s.value) continue;
        Scalar* ds = s.grad + at.scores + static_cast<std::size_t>(first + i) * T;
#pragma omp simd
        for (int j = 0; j < active; ++j) ds[j] += g[j];
      }
      if (!s.value) products.backward(at, first, rows, gradients);
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
Tensor<Scalar> attention(Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config, Tensor<Scalar> q,
                         Tensor<Scalar> k, Tensor<Scalar> v, Tensor<Scalar> scores) {
  Tensor<Scalar> o = tape.tensor(v.rows, v.columns);
  Scalar* scratch = tape.array(std::size_t{3} * kQueries * shape.length);
  tape.record(AttentionOp<Scalar>(shape, config, q, k, v, scores, o, scratch));
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
  template Tensor<Scalar> attention(Tape<Scalar>&, const AttentionShape&, const ModelConfig&,              \
                                    Tensor<Scalar>, Tensor<Scalar>, Tensor<Scalar>, Tensor<Scalar>);       \
  template Tensor<Scalar> attention_denominators(Tape<Scalar>&, const AttentionShape&, const ModelConfig&, \
                                                 Tensor<Scalar>);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm
