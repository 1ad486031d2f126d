#include "attention/trained/attention_ops.h"

#include "attention/trained/power_softmax.h"
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

template <typename Scalar>
struct AttentionOp {
  ModelConfig config;
  AttentionShape shape;
  nn::Tensor<Scalar> q, k, v, offsets;
  nn::Precision precision;
  AttentionTensors<Scalar> out;
  AttentionOptions options;
  Scalar *scores, *weights, *gradients;  // [kQueries][T] each: those of one visit
  Scalar* row_scratch;                   // [T]: the gradient of a row's losses
  nn::Peak<Scalar>* peaks;               // of each sequence, where there are losses

  Scalar scale() const { return 1 / std::sqrt(static_cast<Scalar>(config.head_dim())); }
  // L of row t.
  int keys(int sequence, int t) const { return config.causal ? t + 1 : shape.real_tokens(sequence); }
  // Where row `first` of the block and those after it are, among the queries and among the scores.
  size_t queries(Block at, int first) const { return at.queries + static_cast<size_t>(first) * q.columns; }
  size_t place(Block at, int first) const { return at.scores + static_cast<size_t>(first) * shape.length; }

  // visit(block, first, rows, columns): the real queries first .. first + rows of one head of one sequence, in
  // order. They see at most the first `columns` of each row of the block's T x T scores.
  template <typename Visit>
  void for_each_block(Visit visit) const {
    const size_t dims = config.head_dim(), length = shape.length;
    for (int b = 0; b < shape.sequences; ++b)
      for (int h = 0; h < config.heads; ++h) {
        const size_t key_head = static_cast<size_t>(h) * config.key_heads() / config.heads;
        const Block block{b, h, b * length * q.columns + h * dims, b * length * k.columns + key_head * dims,
                          (static_cast<size_t>(b) * config.heads + h) * length * length};
        const int real = shape.real_tokens(b);
        for (int first = 0; first < real; first += kQueries) {
          const int rows = std::min(kQueries, real - first);
          visit(block, first, rows, keys(b, first + rows - 1));
        }
      }
  }

  // The scores of a visit, s = q k' / sqrt(d_k) + c; its weights in `weights`.
  const Scalar* weigh(Block at, int first, int rows, int columns) const {
    const int T = shape.length;
    Scalar* const s = out.scores.value ? out.scores.value + place(at, first) : scores;
    nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kYes, {rows, columns, config.head_dim()}, scale(),
             {q.value + queries(at, first), q.columns}, {k.value + at.keys, k.columns}, Scalar(0), s, T);
    const Scalar offset = offsets.value ? offsets.value[at.head] : Scalar(0);
    for (int i = 0; i < rows; ++i) {
      Scalar *const row = s + static_cast<size_t>(i) * T, *const w = weights + static_cast<size_t>(i) * T;
      if (offsets.value)
        for (int j = 0; j < columns; ++j) row[j] += offset;
      const int active = keys(at.sequence, first + i);
      if (options.replaced)
        apply_in_double(row, static_cast<size_t>(active), w, *options.replaced);
      else
        row_weights(config, row, active, w);
      std::fill(w + active, w + columns, Scalar(0));
      if (out.scores.value) std::fill(row + active, row + T, Scalar(0));
    }
    return s;
  }

  void forward() {
    const int T = shape.length, dims = config.head_dim();
    if (shape.lengths) {  // the rows that no visit comes to
      std::fill_n(out.o.value, out.o.size(), Scalar(0));
      if (out.scores.value) std::fill_n(out.scores.value, out.scores.size(), Scalar(0));
    }
    if (options.losses) std::fill_n(peaks, shape.sequences, nn::Peak<Scalar>{});
    Scalar loss = 0;
    for_each_block([&](Block at, int first, int rows, int columns) {
      const Scalar* const s = weigh(at, first, rows, columns);
      nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kNo, {rows, dims, columns}, Scalar(1),
               {weights, T}, {v.value + at.keys, v.columns}, Scalar(0), out.o.value + queries(at, first),
               out.o.columns);
      if (!options.losses) return;
      for (int i = 0; i < rows; ++i)
        loss += score_losses(config, *options.losses, s + static_cast<size_t>(i) * T,
                             keys(at.sequence, first + i), place(at, first + i), peaks[at.sequence]);
    });
    if (!options.losses) return;
    for (int b = 0; b < shape.sequences; ++b)
      loss += static_cast<Scalar>(options.losses->peak) * peaks[b].magnitude;
    out.loss.value[0] = loss;
  }

  void backward() {
    PSM_CHECK(!options.replaced, "attention with replaced weights has no backward pass");
    const int T = shape.length, dims = config.head_dim();
    v.start_gradient();
    k.start_gradient();
    offsets.start_gradient();
    if (shape.lengths) q.start_gradient();
    // What was in q's gradient counts times `before`: every real query is visited once.
    const Scalar before = q.first_gradient() ? 0 : 1;
    for_each_block([&](Block at, int first, int rows, int columns) {
      const Scalar* s = weigh(at, first, rows, columns);
      const Scalar* grad_o = out.o.grad + queries(at, first);
      nn::gemm(precision, nn::Transpose::kYes, nn::Transpose::kNo, {columns, dims, rows}, Scalar(1),
               {weights, T}, {grad_o, out.o.columns}, Scalar(1), v.grad + at.keys, v.columns);
      nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kYes, {rows, columns, dims}, Scalar(1),
               {grad_o, out.o.columns}, {v.value + at.keys, v.columns}, Scalar(0), gradients, T);
      for (int i = 0; i < rows; ++i) {
        const size_t row = static_cast<size_t>(i) * T;
        const int active = keys(at.sequence, first + i);
        Scalar* g = gradients + row;  // of the weights, then in place of the scores, zero where the mask is
        row_weights_vjp(config, s + row, weights + row, g, active, g);
        if (options.losses)
          score_losses_vjp(config, *options.losses, s + row, active, place(at, first + i), peaks[at.sequence],
                           out.loss.grad[0], row_scratch, g);
        std::fill(g + active, g + columns, Scalar(0));
      }
      nn::gemm(precision, nn::Transpose::kNo, nn::Transpose::kNo, {rows, dims, columns}, scale(),
               {gradients, T}, {k.value + at.keys, k.columns}, before, q.grad + queries(at, first),
               q.columns);
      nn::gemm(precision, nn::Transpose::kYes, nn::Transpose::kNo, {columns, dims, rows}, scale(),
               {gradients, T}, {q.value + queries(at, first), q.columns}, Scalar(1), k.grad + at.keys,
               k.columns);
      if (!offsets.value) return;
      Scalar sum = 0;
      for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j) sum += gradients[static_cast<size_t>(i) * T + j];
      offsets.grad[at.head] += sum;
    });
  }
};

}  // namespace

template <typename Scalar>
AttentionTensors<Scalar> attention(nn::Tape<Scalar>& tape, const AttentionShape& shape,
                                   const ModelConfig& config, nn::Tensor<Scalar> q, nn::Tensor<Scalar> k,
                                   nn::Tensor<Scalar> v, nn::Tensor<Scalar> offsets,
                                   const AttentionOptions& options) {
  PSM_CHECK(q.rows == shape.sequences * shape.length && q.columns == config.width &&
                k.columns == config.key_width() &&
                (!offsets.value || static_cast<int>(offsets.size()) == config.heads),
            q.rows, " ", k.columns);
  const size_t length = shape.length;
  AttentionOp<Scalar> op;
  op.config = config;
  op.shape = shape;
  op.q = q, op.k = k, op.v = v, op.offsets = offsets;
  op.precision = tape.precision();
  op.options = options;
  op.out.o = tape.tensor(q.rows, q.columns);
  if (options.keep_scores) {
    const int rows = shape.sequences * config.heads * shape.length;
    op.out.scores = {tape.array(static_cast<size_t>(rows) * length), nullptr, rows, shape.length};
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
