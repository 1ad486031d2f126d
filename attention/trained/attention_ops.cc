#include "attention/trained/attention_ops.h"

#include "attention/trained/replaced_functions.h"
#include "attention/trained/row_weights.h"
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
// order. They see at most the first `columns` of each row of the block's T x T scores.
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
struct AttentionOp {
  ModelConfig config;
  ScoreProducts<Scalar> products;
  nn::Tensor<Scalar> v;
  AttentionTensors<Scalar> out;
  AttentionOptions options;
  Scalar *scores, *weights, *gradients;  // [kQueries][T] each: those of one visit
  Scalar* row_scratch;                   // [T]: the gradient of a row's losses
  nn::Peak<Scalar>* peaks;               // of each sequence, where there are losses

  // Where the scores of row `first` and those after it are.
  size_t place(Block at, int first) const {
    return at.scores + static_cast<size_t>(first) * products.shape.length;
  }

  // The scores of a visit, its weights in `weights`.
  const Scalar* weigh(Block at, int first, int rows, int columns) const {
    const int T = products.shape.length;
    Scalar* const x = out.scores.value ? out.scores.value + place(at, first) : scores;
    products.forward(at, first, rows, columns, x);
    for (int i = 0; i < rows; ++i) {
      const int active = products.shape.keys(at.sequence, first + i);
      Scalar *const row = x + static_cast<size_t>(i) * T, *const w = weights + static_cast<size_t>(i) * T;
      if (options.replaced)
        apply_in_double(row, static_cast<size_t>(active), w, *options.replaced);
      else
        row_weights(config, row, active, w);
      std::fill(w + active, w + columns, Scalar(0));
      if (out.scores.value) std::fill(row + active, row + T, Scalar(0));
    }
    return x;
  }

  void forward() {
    const int T = products.shape.length, dims = products.shape.head_dim;
    if (products.shape.lengths) {  // the rows that no visit comes to
      std::fill_n(out.o.value, out.o.size(), Scalar(0));
      if (out.scores.value) std::fill_n(out.scores.value, out.scores.size(), Scalar(0));
    }
    if (options.losses) std::fill_n(peaks, products.shape.sequences, nn::Peak<Scalar>{});
    Scalar loss = 0;
    for_each_block(products.shape, [&](Block at, int first, int rows, int columns) {
      const Scalar* const x = weigh(at, first, rows, columns);
      nn::gemm(products.precision, nn::Transpose::kNo, nn::Transpose::kNo, {rows, dims, columns}, Scalar(1),
               {weights, T}, {v.value + at.keys, v.columns}, Scalar(0),
               out.o.value + products.queries(at, first), out.o.columns);
      if (!options.losses) return;
      for (int i = 0; i < rows; ++i)
        loss += score_losses(*options.losses, x + static_cast<size_t>(i) * T,
                             products.shape.keys(at.sequence, first + i), place(at, first + i),
                             peaks[at.sequence]);
    });
    if (!options.losses) return;
    for (int b = 0; b < products.shape.sequences; ++b)
      loss += static_cast<Scalar>(options.losses->peak) * peaks[b].magnitude;
    out.loss.value[0] = loss;
  }

  void backward() {
    PSM_CHECK(!options.replaced, "attention with replaced weights has no backward pass");
    const int T = products.shape.length, dims = products.shape.head_dim;
    v.start_gradient();
    const Scalar before = products.start_gradients();
    for_each_block(products.shape, [&](Block at, int first, int rows, int columns) {
      const Scalar* x = weigh(at, first, rows, columns);
      const Scalar* grad_o = out.o.grad + products.queries(at, first);
      nn::gemm(products.precision, nn::Transpose::kYes, nn::Transpose::kNo, {columns, dims, rows}, Scalar(1),
               {weights, T}, {grad_o, out.o.columns}, Scalar(1), v.grad + at.keys, v.columns);
      nn::gemm(products.precision, nn::Transpose::kNo, nn::Transpose::kYes, {rows, columns, dims}, Scalar(1),
               {grad_o, out.o.columns}, {v.value + at.keys, v.columns}, Scalar(0), gradients, T);
      for (int i = 0; i < rows; ++i) {
        const size_t row = static_cast<size_t>(i) * T;
        const int active = products.shape.keys(at.sequence, first + i);
        Scalar* g = gradients + row;  // of the weights, then in place of the scores
        row_weights_vjp(config, x + row, weights + row, g, active, g);
        if (options.losses)
          score_losses_vjp(*options.losses, x + row, active, place(at, first + i), peaks[at.sequence],
                           out.loss.grad[0], row_scratch, g);
        std::fill(g + active, g + columns, Scalar(0));
      }
      products.backward(at, first, rows, columns, gradients, before);
    });
  }
};

}  // namespace

template <typename Scalar>
AttentionTensors<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                   const ModelConfig& config, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                                   nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets,
                                   const AttentionOptions& options) {
  PSM_CHECK(q.rows == shape.sequences * shape.length && q.columns == shape.heads * shape.head_dim &&
                k.columns == shape.key_heads() * shape.head_dim &&
                (!offsets.value || static_cast<int>(offsets.size()) == shape.heads),
            q.rows, " ", k.columns);
  typedef AttentionOp<Scalar> Op;
  const size_t length = shape.length;
  Op op;
  op.config = config;
  op.products = {shape, q, k, offsets, tape.precision()};
  op.v = v;
  op.options = options;
  op.out.o = tape.tensor(q.rows, q.columns);
  if (options.keep_scores) {
    const int rows = shape.sequences * shape.heads * shape.length;
    op.out.scores = {tape.array(static_cast<size_t>(rows) * length), nullptr, rows, shape.length, nullptr};
  }
  if (options.losses) op.out.loss = tape.tensor(1, 1);
  op.scores = tape.array((3 * kQueries + 1) * length);
  op.weights = op.scores + kQueries * length;
  op.gradients = op.weights + kQueries * length;
  op.row_scratch = op.gradients + kQueries * length;
  op.peaks = tape.template array_of<nn::Peak<Scalar>>(options.losses ? shape.sequences : 0);
  tape.record(op);
  return op.out;
}

#define PSM_INSTANTIATE(Scalar)                                                                             \
  template AttentionTensors<Scalar> attention(nn::Tape<Scalar>&, const AttentionShape&, const ModelConfig&, \
                                              nn::Tensor<Scalar>, nn::Tensor<Scalar>, nn::Tensor<Scalar>,   \
                                              nn::Tensor<Scalar>, const AttentionOptions&);
PSM_INSTANTIATE(float)
PSM_INSTANTIATE(double)
#undef PSM_INSTANTIATE

}  // namespace psm::attention
