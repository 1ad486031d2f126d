#include "attention/trained/attention_ops.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "attention/rows/power_softmax.h"
#include "attention/rows/rounded_rows.h"
#include "attention/rows/row_weights.h"
#include "attention/trained/replaced_functions.h"
#include "nn/kernels/gemm.h"

namespace psm::attention {
namespace {

// Where the block of head h of sequence b starts: in tensors of queries, of keys and of scores.
struct Block {
  int sequence, head;
  size_t queries, keys, scores;
};

// Rows of queries that are computed at once: they read no key after the last that one of them sees, and their
// weights stay in the second-level cache.
constexpr int kQueries = 64;

// visit(block, first, rows, columns): the real queries first .. first + rows of one head of one sequence, in
// order. Of a block's T x T scores they see the first `columns` of each row at most.
template <typename Visit>
void for_each_block(const AttentionShape& shape, Visit visit) {
  const size_t dims = shape.head_dim, length = shape.length;
  const size_t d = shape.heads * dims, key_width = shape.key_heads() * dims;
  for (int b = 0; b < shape.sequences; ++b)
    for (int h = 0; h < shape.heads; ++h) {
      const size_t key_head = static_cast<size_t>(h) * shape.key_heads() / shape.heads;
      const Block block{b, h, b * length * d + h * dims, b * length * key_width + key_head * dims,
                        (static_cast<size_t>(b) * shape.heads + h) * length * length};
      const int queries = shape.real_tokens(b);
      for (int first = 0; first < queries; first += kQueries) {
        const int rows = std::min(kQueries, queries - first);
        visit(block, first, rows, shape.keys(b, first + rows - 1));
      }
    }
}

// s <- q k' / sqrt(d_k) + c and its vector-Jacobian product for the rows of one visit; s and ds begin at the
// first row.
template <typename Scalar>
struct ScoreProducts {
  AttentionShape shape;
  nn::Tensor<Scalar> q, k, offsets;
  nn::Precision precision;

  Scalar scale() const { return 1 / std::sqrt(static_cast<Scalar>(shape.head_dim)); }
  size_t queries(Block at, int first) const { return at.queries + static_cast<size_t>(first) * q.columns; }

  void forward(Block at, int first, int rows, int columns, Scalar* s) const {
    nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kYes, {rows, columns, shape.head_dim}, scale(),
             {q.value + queries(at, first), q.columns}, {k.value + at.keys, k.columns}, Scalar(0), s,
             shape.length);
    if (!offsets.value) return;
    const Scalar offset = offsets.value[at.head];
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) s[static_cast<size_t>(i) * shape.length + j] += offset;
  }

  // What was in q's gradient counts times `before`: every real query is visited once.
  Scalar start_gradients() const {
    k.start_gradient();
    offsets.start_gradient();
    if (shape.lengths) q.start_gradient();
    return q.first_gradient() ? 0 : 1;
  }

  // ds is zero where the mask is.
  void backward(Block at, int first, int rows, int columns, const Scalar* ds, Scalar before) const {
    nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kNo, {rows, shape.head_dim, columns}, scale(),
             {ds, shape.length}, {k.value + at.keys, k.columns}, before, q.grad + queries(at, first),
             q.columns);
    nn::gemm(precision, nn::Transpose::kYes, nn::Transpose::kNo, {columns, shape.head_dim, rows}, scale(),
             {ds, shape.length}, {q.value + queries(at, first), q.columns}, Scalar(1), k.grad + at.keys,
             k.columns);
    if (!offsets.value) return;
    Scalar sum = 0;
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) sum += ds[static_cast<size_t>(i) * shape.length + j];
    offsets.grad[at.head] += sum;
  }
};

template <typename Scalar>
struct ScoresOp final : nn::Operation {
  ScoreProducts<Scalar> products;
  nn::Tensor<Scalar> s;
  ScoresOp(const AttentionShape& shape, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
           nn::Tensor<Scalar> offsets, nn::Tensor<Scalar> s_, nn::Precision precision)
      : products{shape, q, k, offsets, precision}, s(s_) {}

  void forward() {
    const AttentionShape& shape = products.shape;
    const int T = shape.length;
    if (shape.lengths) std::fill_n(s.value, s.size(), Scalar(0));  // the rows that no visit comes to
    for_each_block(shape, [&](Block at, int first, int rows, int columns) {
      Scalar* out = s.value + at.scores + static_cast<size_t>(first) * T;
      products.forward(at, first, rows, columns, out);
      for (int i = 0; i < rows; ++i)
        std::fill(out + i * T + shape.keys(at.sequence, first + i), out + (i + 1) * T, Scalar(0));
    });
  }

  // Whoever uses s leaves the gradient of the masked entries at zero.
  void backward() override {
    const Scalar before = products.start_gradients();
    for_each_block(products.shape, [&](Block at, int first, int rows, int columns) {
      products.backward(at, first, rows, columns,
                        s.grad + at.scores + static_cast<size_t>(first) * products.shape.length, before);
    });
  }
};

template <typename Scalar>
struct AttentionOp final : nn::Operation {
  ModelConfig config;
  ScoreProducts<Scalar> products;
  nn::Precision precision;
  nn::Tensor<Scalar> v, s, o;            // s.value == nullptr: scores are not kept
  Scalar *scores, *weights, *gradients;  // [kQueries][T] each: those of one visit
  const RowFunction* replaced;           // or nullptr
  nn::Rounding rounding;
  AttentionOp(const AttentionShape& shape, const ModelConfig& config_, nn::Tensor<Scalar> q,
              nn::Tensor<Scalar> k, nn::Tensor<Scalar> offsets, nn::Tensor<Scalar> v_, nn::Tensor<Scalar> s_,
              nn::Tensor<Scalar> o_, Scalar* scratch, const RowFunction* replaced_, nn::Rounding rounding_,
              nn::Precision precision_)
      : config(config_),
        products{shape, q, k, offsets, precision_},
        precision(precision_),
        v(v_),
        s(s_),
        o(o_),
        scores(scratch),
        weights(scores + static_cast<size_t>(kQueries) * shape.length),
        gradients(weights + static_cast<size_t>(kQueries) * shape.length),
        replaced(replaced_),
        rounding(rounding_) {}

  // What a row is rounded in, behind the gradients.
  Scalar* rounded_row() const { return gradients + static_cast<size_t>(kQueries) * products.shape.length; }

  void weights_of(const Scalar* x, int active, Scalar* w) const {
    if constexpr (std::is_same_v<Scalar, float>)
      if (rounding != nn::Rounding::kNone)
        return rounded_row_weights(config, rounding, x, active, w, rounded_row());
    row_weights(config, x, active, w);
  }

  void weights_vjp(const Scalar* x, const Scalar* w, int active, Scalar* g) const {
    if constexpr (std::is_same_v<Scalar, float>)
      if (rounding != nn::Rounding::kNone)
        return rounded_row_weights_vjp(config, rounding, x, w, g, active, g, rounded_row());
    row_weights_vjp(config, x, w, g, active, g);
  }

  // The scores of a visit, its weights in `weights`.
  const Scalar* weigh(Block at, int first, int rows, int columns) const {
    const int T = products.shape.length;
    const Scalar* x = scores;
    if (s.value)
      x = s.value + at.scores + static_cast<size_t>(first) * T;
    else
      products.forward(at, first, rows, columns, scores);
    for (int i = 0; i < rows; ++i) {
      const int active = products.shape.keys(at.sequence, first + i);
      Scalar* w = weights + static_cast<size_t>(i) * T;
      if (replaced)
        apply_in_double(x + static_cast<size_t>(i) * T, static_cast<size_t>(active), w, *replaced);
      else
        weights_of(x + static_cast<size_t>(i) * T, active, w);
      std::fill(w + active, w + columns, Scalar(0));
    }
    return x;
  }

  void forward() {
    const int T = products.shape.length, dims = products.shape.head_dim;
    if (products.shape.lengths) std::fill_n(o.value, o.size(), Scalar(0));  // the rows that no visit comes to
    for_each_block(products.shape, [&](Block at, int first, int rows, int columns) {
      weigh(at, first, rows, columns);
      nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kNo, {rows, dims, columns}, Scalar(1),
               {weights, T}, {v.value + at.keys, v.columns}, Scalar(0), o.value + products.queries(at, first),
               o.columns);
    });
  }

  void backward() override {
    PSM_CHECK(!replaced, "attention with replaced weights has no backward pass");
    const int T = products.shape.length, dims = products.shape.head_dim;
    v.start_gradient();
    s.start_gradient();
    const Scalar before = s.value ? 1 : products.start_gradients();
    for_each_block(products.shape, [&](Block at, int first, int rows, int columns) {
      const Scalar* x = weigh(at, first, rows, columns);
      const Scalar* grad_o = o.grad + products.queries(at, first);
      nn::gemm(precision, nn::Transpose::kYes, nn::Transpose::kNo, {columns, dims, rows}, Scalar(1),
               {weights, T}, {grad_o, o.columns}, Scalar(1), v.grad + at.keys, v.columns);
      nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kYes, {rows, columns, dims}, Scalar(1),
               {grad_o, o.columns}, {v.value + at.keys, v.columns}, Scalar(0), gradients, T);
      for (int i = 0; i < rows; ++i) {
        const size_t row = static_cast<size_t>(i) * T;
        const int active = products.shape.keys(at.sequence, first + i);
        Scalar* g = gradients + row;  // of the weights, then in place of the scores
        weights_vjp(x + row, weights + row, active, g);
        std::fill(g + active, g + columns, Scalar(0));
        if (!s.value) continue;
        Scalar* ds = s.grad + at.scores + static_cast<size_t>(first + i) * T;
#pragma omp simd
        for (int j = 0; j < active; ++j) ds[j] += g[j];
      }
      if (!s.value) products.backward(at, first, rows, columns, gradients, before);
    });
  }
};

template <typename Scalar>
struct DenominatorsOp final : nn::Operation {
  AttentionShape shape;
  PowerParameters parameters;
  nn::Tensor<Scalar> s, denominators;
  DenominatorsOp(const AttentionShape& shape_, const ModelConfig& config, nn::Tensor<Scalar> s_,
                 nn::Tensor<Scalar> denominators_)
      : shape(shape_), parameters(PowerParameters::of(config)), s(s_), denominators(denominators_) {}

  int keys(int r) const { return shape.keys(r / (shape.heads * shape.length), r % shape.length); }

  void forward() {
    for (int r = 0; r < s.rows; ++r)
      denominators.value[r] = length_agnostic_denominator(s.row(r), keys(r), parameters);
  }

  void backward() override {
    s.start_gradient();
    const int p = parameters.power;
    for (int r = 0; r < s.rows; ++r) {
      const int active = keys(r);
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
nn::Tensor<Scalar> attention_scores(nn::Tape<Scalar>& tape, const AttentionShape& shape, nn::Tensor<Scalar> q,
                                    nn::Tensor<Scalar> k, nn::Tensor<Scalar> offsets) {
  PSM_CHECK(q.rows == shape.sequences * shape.length && q.columns == shape.heads * shape.head_dim &&
                k.columns == shape.key_heads() * shape.head_dim &&
                (!offsets.value || static_cast<int>(offsets.size()) == shape.heads),
            q.rows, " ", k.columns);
  nn::Tensor<Scalar> s = tape.tensor(shape.sequences * shape.heads * shape.length, shape.length);
  tape.record(ScoresOp<Scalar>(shape, q, k, offsets, s, tape.precision()));
  return s;
}

template <typename Scalar>
nn::Tensor<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape, const ModelConfig& config,
                             nn::Tensor<Scalar> q, nn::Tensor<Scalar> k, nn::Tensor<Scalar> v,
                             nn::Tensor<Scalar> offsets, nn::Tensor<Scalar> scores,
                             const RowFunction* replaced, nn::Rounding rounding) {
  PSM_CHECK(rounding == nn::Rounding::kNone || (std::is_same_v<Scalar, float>));
  nn::Tensor<Scalar> o = tape.tensor(q.rows, q.columns);
  const size_t rows = size_t{3} * kQueries + (rounding == nn::Rounding::kNone ? 0 : 3);
  Scalar* scratch = tape.array(rows * shape.length);
  tape.record(AttentionOp<Scalar>(shape, config, q, k, offsets, v, scores, o, scratch, replaced, rounding,
                                  tape.precision()));
  return o;
}

template <typename Scalar>
nn::Tensor<Scalar> attention_denominators(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                          const ModelConfig& config, nn::Tensor<Scalar> scores) {
  nn::Tensor<Scalar> denominators = tape.tensor(scores.rows, 1);
  tape.record(DenominatorsOp<Scalar>(shape, config, scores, denominators));
  return denominators;
}

#define PSM_INSTANTIATE(Scalar)                                                                              \
  template nn::Tensor<Scalar> attention_scores(nn::Tape<Scalar>&, const AttentionShape&, nn::Tensor<Scalar>, \
                                               nn::Tensor<Scalar>, nn::Tensor<Scalar>);                      \
  template nn::Tensor<Scalar> attention(                                                                     \
      nn::Tape<Scalar>&, const AttentionShape&, const ModelConfig&, nn::Tensor<Scalar>, nn::Tensor<Scalar>,  \
      nn::Tensor<Scalar>, nn::Tensor<Scalar>, nn::Tensor<Scalar>, const RowFunction*, nn::Rounding);         \
  template nn::Tensor<Scalar> attention_denominators(nn::Tape<Scalar>&, const AttentionShape&,               \
                                                     const ModelConfig&, nn::Tensor<Scalar>);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm::attention
