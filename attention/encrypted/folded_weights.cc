#include "attention/encrypted/folded_weights.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace psm::attention {

namespace {

using Vector = std::vector<double>;

// A real matrix with the rows and columns that the layouts name, in slot order.
nn::SlotMatrix arrange(const FeatureLayout& rows, const FeatureLayout& columns,
                       const std::function<double(int row, int column)>& entry) {
  nn::SlotMatrix matrix{.rows = rows.size(),
                        .columns = columns.size(),
                        .entries = {},
                        .real_rows = rows.reals,
                        .real_columns = columns.reals};
  matrix.entries.assign(4 * static_cast<size_t>(rows.size()) * static_cast<size_t>(columns.size()), 0.0);
  size_t at = 0;
  for (int r = 0; r < 2 * rows.size(); ++r) {
    const int row = (r % 2 == 0 ? rows.re : rows.im)[r / 2];
    for (int c = 0; c < columns.size(); ++c)
      for (const std::vector<int>* part : {&columns.re, &columns.im}) {
        const int column = (*part)[c];
        if (row >= 0 && column >= 0) matrix.entries[at] = entry(row, column);
        ++at;
      }
  }
  return matrix;
}

// The same of a mere shape.
nn::SlotMatrix shape_of(const FeatureLayout& rows, const FeatureLayout& columns) {
  const auto used = [](const FeatureLayout& layout) {
    std::vector<bool> used;
    for (int f = 0; f < layout.size(); ++f) used.push_back(layout.re[f] >= 0 || layout.im[f] >= 0);
    return used;
  };
  return {rows.size(), columns.size(), {}, used(rows), used(columns), rows.reals, columns.reals};
}

// A real vector as one plaintext of period F for each ciphertext. An empty vector, a shape's, gives plaintexts without
// entries.
std::vector<ckks::Plain> arrange(const FeatureLayout& layout, int features, const Vector& vector) {
  std::vector<ckks::Plain> plains;
  auto part = [&](int i) { return i < 0 ? 0.0 : vector[i]; };
  for (int first = 0; first < layout.size(); first += features) {
    if (vector.empty()) {
      plains.push_back(ckks::Plain::shape_only(static_cast<size_t>(features), layout.is_real(first)));
      continue;
    }
    std::vector<ckks::Complex> period;
    for (int f = first; f < first + features; ++f)
      period.emplace_back(part(layout.re[f]), part(layout.im[f]));
    plains.emplace_back(std::move(period));
  }
  return plains;
}

Vector scaled(Vector vector, double factor) {
  for (double& x : vector) x *= factor;
  return vector;
}

// For x' = x / R: input_scale (variance + epsilon) + input_offset. An RMSNorm has the mean square.
nn::NormArgument fold_norm(const PolynomialModel& model, const Packing& packing,
                           const approx::Approximation& inverse_sqrt) {
  const Vector range = residual_scale(model, packing);
  const ModelConfig& config = model.weights.config;
  const double scale = inverse_sqrt.input_scale();
  nn::NormArgument norm{{}, scale * config.norm_epsilon + inverse_sqrt.input_offset()};
  for (int f = 0; f < packing.state.size(); ++f) {
    const int re = packing.state.re[f];
    const double r = re < 0 ? 0 : range[re];
    norm.weight.push_back(scale * r * r / static_cast<double>(config.width));
  }
  return norm;
}

// A norm's result for the matrices after it: gamma . unit . h' + beta, h' the slots. A matrix without entries gives
// another without.
struct NormReading {
  const std::vector<float>&gamma, &beta;  // no beta in RMSNorm
  Vector unit;                            // of each real feature

  // W diag(gamma unit) scale, for rows of a layout and the state's columns.
  nn::SlotMatrix matrix(const std::vector<float>& w, const FeatureLayout& rows, const FeatureLayout& state,
                        double scale) const {
    if (w.empty()) return shape_of(rows, state);
    const size_t d = gamma.size();
    return arrange(rows, state, [&](int row, int column) {
      const size_t i = static_cast<size_t>(row), j = static_cast<size_t>(column);
      return static_cast<double>(w[i * d + j]) * static_cast<double>(gamma[j]) * unit[j] * scale;
    });
  }

  // b + W beta; b may be empty.
  Vector bias(const std::vector<float>& w, const std::vector<float>& b) const {
    if (w.empty()) return {};
    const size_t d = gamma.size();
    Vector sum(w.size() / d);
    std::ranges::copy(b, sum.begin());
    for (size_t i = 0; i < sum.size(); ++i)
      for (size_t j = 0; j < beta.size(); ++j)
        sum[i] += static_cast<double>(w[i * d + j]) * static_cast<double>(beta[j]);
    return sum;
  }

  // max_i |W_i diag(gamma)| sqrt(d) + |b'_i|: a bound of |W n + b| by Cauchy and Schwarz, because a
  // normalised x has length sqrt(d) at most. 1 if all is zero.
  double bound(const std::vector<float>& w, const Vector& bias) const {
    const size_t d = gamma.size();
    double bound = 0;
    for (size_t i = 0; i < bias.size(); ++i) {
      double square = 0;
      for (size_t j = 0; j < d; ++j) {
        const double entry = static_cast<double>(w[i * d + j]) * static_cast<double>(gamma[j]);
        square += entry * entry;
      }
      bound = std::max(bound, std::sqrt(square * static_cast<double>(d)) + std::abs(bias[i]));
    }
    return bound == 0 ? 1 : bound;
  }
};

// For the norm whose polynomial is `inverse_sqrt`; nullptr if the client computes the norm.
NormReading reading_of(const std::vector<float>& gamma, const std::vector<float>& beta,
                       const PolynomialModel& model, const Packing& packing,
                       const approx::Approximation* inverse_sqrt) {
  Vector unit(gamma.size(), 1.0);
  if (inverse_sqrt != nullptr) {
    unit = residual_scale(model, packing);
    for (double& u : unit) u = u * inverse_sqrt->output_scale();
  }
  return {gamma, beta, std::move(unit)};
}

// The readings of a layer's attention and of its feed-forward part.
NormReading attention_reading(const PolynomialModel& model, const Packing& packing, int layer) {
  const ModelWeights& weights = model.weights;
  const LayerWeights& w = weights.layers[layer];
  if (weights.config.block != BlockKind::kPostNorm)
    return reading_of(w.norm1_gamma, w.norm1_beta, model, packing,
                      inverse_sqrt_at(model, Site::kVariance, layer));
  if (layer == 0) return reading_of(weights.embedding_gamma, weights.embedding_beta, model, packing, nullptr);
  const LayerWeights& before = weights.layers[layer - 1];
  return reading_of(before.norm2_gamma, before.norm2_beta, model, packing,
                    &*model.layers[layer - 1].second_inverse_sqrt);
}

NormReading feed_reading(const PolynomialModel& model, const Packing& packing, int layer) {
  const LayerWeights& w = model.weights.layers[layer];
  const LayerApproximations& functions = model.layers[layer];
  const BlockKind block = model.weights.config.block;
  if (block == BlockKind::kParallel)
    return {w.norm2_gamma, w.norm2_beta, attention_reading(model, packing, layer).unit};
  if (block == BlockKind::kPreNorm)
    return reading_of(w.norm2_gamma, w.norm2_beta, model, packing, &*functions.second_inverse_sqrt);
  return reading_of(w.norm1_gamma, w.norm1_beta, model, packing, &functions.inverse_sqrt);
}

// What writes to the state: rows less their mean (where LayerNorm reads them) and over R.
class Writing {
 public:
  Writing(const PolynomialModel& model, const Packing& packing, bool is_shape, bool centred)
      : packing_(packing),
        d_(static_cast<size_t>(model.weights.config.width)),
        shape_(is_shape),
        centred_(centred),
        range_(residual_scale(model, packing)) {}

  nn::SlotMatrix matrix(const std::vector<float>& matrix, double scale, const FeatureLayout& columns) const {
    if (shape_) return shape_of(packing_.state, columns);
    const size_t count = matrix.size() / d_;
    const Vector centred = centred_columns({matrix.begin(), matrix.end()});
    return arrange(packing_.state, columns, [&](int row, int column) {
      const size_t i = static_cast<size_t>(row);
      return centred[i * count + column] * scale / range_[i];
    });
  }

  // gamma . unit . h', whose real and imaginary parts have factors of their own; half of it in a real ciphertext, as of
  // nn::linear_map. A shape has ones.
  FoldedSkip skip(const NormReading& h) const {
    const FeatureLayout& state = packing_.state;
    const int F = packing_.features, mean = 2 * packing_.state_ciphertexts();
    const auto scale = [&](int i) {
      return i < 0 ? 0.0 : shape_ ? 1.0 : static_cast<double>(h.gamma[i]) * h.unit[i];
    };
    const auto over_range = [&](int i) { return i < 0 ? 0.0 : 1 / range_[i]; };
    FoldedSkip skip;
    skip.sum.outputs = packing_.state_ciphertexts();
    for (int c = 0; c < skip.sum.outputs; ++c) {
      const bool real = packing_.is_real_state(c);
      std::vector<ckks::Complex> own, of_conjugate, half, half_of_conjugate, spread;
      for (int f = c * F; f < (c + 1) * F; ++f) {
        const int re = state.re[f], im = state.im[f];
        const ckks::Complex g(scale(re), scale(im)), u(over_range(re), over_range(im));
        own.emplace_back((g.real() * u.real() + g.imag() * u.imag()) / 2);
        of_conjugate.emplace_back((g.real() * u.real() - g.imag() * u.imag()) / 2);
        half.push_back(std::conj(g) / (2.0 * static_cast<double>(d_)));
        half_of_conjugate.push_back(std::conj(half.back()));
        spread.push_back(real ? -u / 2.0 : -u);
      }
      const auto add = [&](ckks::LinearTransform& map, int output, int giant, int input,
                           std::vector<ckks::Complex>& weight) {
        map.terms.push_back(
            {.output = output, .giant = giant, .input = input, .weight = ckks::Plain(std::move(weight))});
      };
      add(skip.sum, c, 0, 2 * c, own);
      if (!real) add(skip.sum, c, 0, 2 * c + 1, of_conjugate);
      if (!centred_) continue;
      add(skip.sum, c, 0, mean, spread);
      add(skip.mean, 0, 1 - F, 2 * c, half), add(skip.mean, 0, 1 - F, 2 * c + 1, half_of_conjugate);
    }
    return skip;
  }

  // The sum of these, some of them empty.
  std::vector<ckks::Plain> bias(std::initializer_list<const std::vector<float>*> terms) const {
    if (shape_) return arrange(packing_.state, packing_.features, {});
    Vector sum(d_);
    for (const std::vector<float>* term : terms)
      for (size_t i = 0; i < term->size(); ++i) sum[i] += static_cast<double>((*term)[i]);
    sum = centred_columns(std::move(sum));
    for (size_t i = 0; i < d_; ++i) sum[i] /= range_[i];
    return arrange(packing_.state, packing_.features, sum);
  }

 private:
  // (I - 1 1^T / d) W: every column less its mean, if that is asked for.
  Vector centred_columns(Vector w) const {
    const size_t columns = w.size() / d_;
    for (size_t c = 0; centred_ && c < columns; ++c) {
      double mean = 0;
      for (size_t r = 0; r < d_; ++r) mean += w[r * columns + c] / static_cast<double>(d_);
      for (size_t r = 0; r < d_; ++r) w[r * columns + c] -= mean;
    }
    return w;
  }

  const Packing& packing_;
  size_t d_;
  bool shape_, centred_;
  Vector range_;
};

std::vector<Vector> offsets_of(const ModelConfig& config, const Packing& packing, const LayerWeights& w,
                               double hi) {
  std::vector<Vector> folded;
  for (int first = 0; first < packing.heads.size(); first += packing.features) {
    Vector& offsets = folded.emplace_back();
    for (int f = first; f < first + packing.features; f += packing.head_features) {
      const int row = packing.heads.re[f];  // -1: no head is there
      const double c = row < 0 ? 0
                       : w.score_offset.empty()
                           ? 1
                           : static_cast<double>(w.score_offset[row / config.head_dim()]);
      offsets.push_back(c * std::pow(hi, -1.0 / config.power));
    }
  }
  return folded;
}

}  // namespace

Vector residual_scale(const PolynomialModel& model, const Packing& packing) {
  Vector scale = model.ranges.residual;
  for (int f = 0; f < packing.state.size(); ++f) {
    const int re = packing.state.re[f], im = packing.state.im[f];
    if (re < 0 || im < 0) continue;
    double &a = scale[re], &b = scale[im];
    a = b = std::max(a, b);
  }
  return scale;
}

FoldedLayer fold_layer(const PolynomialModel& model, const Packing& packing, int index) {
  const ModelConfig& config = model.weights.config;
  const LayerWeights read = model.read_layer ? model.read_layer(index) : LayerWeights{};
  const LayerWeights& w = model.read_layer ? read : model.weights.layers[index];
  const LayerApproximations& polynomials = model.layers[index];
  const NormReading to_attention = attention_reading(model, packing, index),
                    to_feed = feed_reading(model, packing, index);
  const Writing writing(model, packing, w.wq.empty(), config.norm == NormKind::kLayerNorm);
  const int F = packing.features;

  const double hi = model.ranges.layers[index].denominator.hi;
  const double query_scale =
      1 / std::sqrt(std::sqrt(static_cast<double>(config.head_dim())) * std::pow(hi, 1.0 / config.power));

  // b' = b + W beta.
  const bool shifts = config.biases || config.norm == NormKind::kLayerNorm;
  const auto shift = [&](const FeatureLayout& rows, const Vector& bias, double scale) {
    return shifts ? arrange(rows, F, scaled(bias, scale)) : std::vector<ckks::Plain>{};
  };
  const Vector v_bias = to_attention.bias(w.wv, w.bv);
  const double value_bound = to_attention.bound(w.wv, v_bias);  // V
  FoldedLayer folded;
  const approx::Approximation& inverse = polynomials.inverse();
  folded.value_range = hi * inverse.output_scale();
  folded.row_sum_factor = inverse.input_scale() * hi;
  for (int first = 0; first < packing.heads.size(); first += F) {
    std::vector<ckks::Complex> offset;
    for (int f = first; f < first + F; ++f) {
      const bool used = packing.heads.re[f / packing.head_features * packing.head_features] >= 0;
      offset.push_back(used ? inverse.input_scale() * config.epsilon + inverse.input_offset()
                            : inverse.input_range().midpoint());
    }
    folded.denominator_offset.emplace_back(std::move(offset));
  }
  const double value_scale = folded.value_range / value_bound;
  folded.projections.push_back(to_attention.matrix(w.wq, packing.heads, packing.state, query_scale));
  folded.projections.push_back(to_attention.matrix(w.wk, packing.keys, packing.state, query_scale));
  folded.projections.push_back(to_attention.matrix(w.wv, packing.keys, packing.state, value_scale));
  folded.o = writing.matrix(w.wo, value_bound, packing.heads);
  folded.q_bias = shift(packing.heads, to_attention.bias(w.wq, w.bq), query_scale);
  folded.k_bias = shift(packing.keys, to_attention.bias(w.wk, w.bk), query_scale);
  folded.v_bias = shift(packing.keys, v_bias, value_scale);
  if (config.has_score_offset()) folded.score_offset = offsets_of(config, packing, w, hi);

  const double gelu_scale = polynomials.gelu.input_scale() / 2;
  double down_scale = polynomials.gelu.output_scale(), up_scale = gelu_scale;
  const Vector up_bias = to_feed.bias(w.w_up, w.b_up);
  std::vector<nn::SlotMatrix>& feed = config.block == BlockKind::kParallel ? folded.projections : folded.feed;
  if (config.feed_forward == FeedForwardKind::kSwiGlu) {
    feed.push_back(to_feed.matrix(w.w_gate, packing.ffn, packing.state, gelu_scale));
    folded.feed_bias = shift(packing.ffn, to_feed.bias(w.w_gate, {}), gelu_scale);
    const double bound = to_feed.bound(w.w_up, up_bias);  // U
    up_scale = 1 / (2 * bound);
    down_scale *= bound;
  }
  feed.push_back(to_feed.matrix(w.w_up, packing.ffn, packing.state, up_scale));
  for (ckks::Plain& bias : shift(packing.ffn, up_bias, up_scale)) folded.feed_bias.push_back(std::move(bias));
  folded.down = writing.matrix(w.w_down, down_scale, packing.ffn);

  if (config.block == BlockKind::kParallel) {
    folded.out_bias = writing.bias({&w.bo, &w.b_down});
  } else {
    const bool skips = config.block == BlockKind::kPostNorm;
    const std::vector<float> none;
    folded.out_bias = writing.bias({&w.bo, skips ? &to_attention.beta : &none});
    folded.down_bias = writing.bias({&w.b_down, skips ? &to_feed.beta : &none});
    if (skips) folded.skip = writing.skip(to_attention), folded.feed_skip = writing.skip(to_feed);
    folded.second_norm = fold_norm(model, packing, *polynomials.second_inverse_sqrt);
  }
  folded.norm = fold_norm(model, packing, polynomials.inverse_sqrt);
  return folded;
}

FoldedHead fold_head(const PolynomialModel& model, const Packing& packing) {
  const ModelWeights& w = model.weights;
  const int F = packing.features;
  const size_t d = static_cast<size_t>(w.config.width);
  const std::vector<float> ones(d, 1.0f), none;
  FoldedHead folded;
  const auto of_state = [&] {
    const LayerWeights& last = w.layers.back();
    return reading_of(last.norm2_gamma, last.norm2_beta, model, packing,
                      &*model.layers.back().second_inverse_sqrt);
  };
  if (w.config.mean_pooling) {
    const NormReading state = of_state();
    const Writing writing(model, packing, w.class_weight.empty(), /*centred=*/false);
    folded.mean = writing.skip(state).sum;
    folded.mean_bias = writing.bias({&state.beta});
  }
  if (w.config.head_has_norm()) folded.norm = fold_norm(model, packing, *model.final_inverse_sqrt);
  const NormReading h =
      w.config.mean_pooling ? reading_of(ones, none, model, packing, &*model.final_inverse_sqrt)
      : w.config.has_final_norm()
          ? reading_of(w.final_gamma, w.final_beta, model, packing, &*model.final_inverse_sqrt)
          : of_state();
  if (!w.config.pooler) {
    folded.classes = h.matrix(w.class_weight, packing.classes, packing.state, 1);
    folded.class_bias = arrange(packing.classes, F, h.bias(w.class_weight, w.class_bias));
    return folded;
  }
  const double in = model.pooler->input_scale() / 2, out = model.pooler->output_scale();
  FeatureLayout units = packing.state;
  units.reals = 0;  // the function of an imaginary part that is zero is not
  folded.pooler = h.matrix(w.pooler_weight, units, packing.state, in);
  folded.pooler_bias = arrange(units, F, scaled(h.bias(w.pooler_weight, w.pooler_bias), in));
  folded.classes = {packing.classes.size(), units.size(), {}};
  if (!w.class_weight.empty())
    folded.classes = arrange(packing.classes, units, [&](int row, int column) {
      return out * static_cast<double>(w.class_weight[row * d + column]);
    });
  folded.class_bias = arrange(packing.classes, F, {w.class_bias.begin(), w.class_bias.end()});
  return folded;
}

}  // namespace psm::attention
