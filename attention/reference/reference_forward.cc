#include "attention/reference/reference_forward.h"

#include <cmath>

#include "approx/activation.h"
#include "attention/rows/power_softmax.h"
#include "attention/rows/row_weights.h"
#include "attention/shape/examples.h"
#include "ckks/base/error.h"

namespace psm::attention {
namespace {

using Vector = std::vector<double>;

double sigmoid_of(double z) { return 1.0 / (1.0 + std::exp(-z)); }

double activation(FeedForwardKind kind, double z) {
  switch (kind) {
    case FeedForwardKind::kGelu:
      return z * sigmoid_of(1.702 * z);
    case FeedForwardKind::kGeluErf:
      return z * std::erfc(-z / std::sqrt(2.0)) / 2;
    case FeedForwardKind::kGeluTanh:
      return approx::gelu_tanh(z);
    case FeedForwardKind::kSwiGlu:
      return z * sigmoid_of(z);
  }
  PSM_CHECK(false, "unknown feed-forward part ", static_cast<int>(kind));
  return z;
}

// The run of one sequence; every member works on all its tokens, row t of a matrix belonging to token t.
class Reference {
 public:
  Reference(const ModelWeights& weights, int tokens, const ReferenceHooks& hooks)
      : weights_(weights), config_(weights.config), tokens_(tokens), hooks_(hooks) {}

  // x: the tokens' or patches' own vectors.
  ForwardResult run(Vector x) {
    const int d = config_.width;
    if (config_.positions == PositionKind::kLearned)
      for (size_t i = 0; i < x.size(); ++i) x[i] += weights_.position_embedding[i];
    if (config_.block == BlockKind::kPostNorm) {
      Vector inverse_deviation(tokens_);
      for (int t = 0; t < tokens_; ++t) inverse_deviation[t] = 1 / std::sqrt(variance(x, t));
      x = normalise(x, inverse_deviation, weights_.embedding_gamma, weights_.embedding_beta);
    }

    for (int n = 0; n < config_.layers; ++n) {
      const LayerWeights& layer = weights_.layers[n];
      for (int t = 0; t < tokens_; ++t) observe(Site::kResidual, n, t, &x[t * d], d);
      const auto norm1 = [&](const Vector& y) {
        return normalise(y, inverse_deviations(Site::kVariance, n, y), layer.norm1_gamma, layer.norm1_beta);
      };
      const auto norm2 = [&](const Vector& y) {
        return normalise(y, inverse_deviations(Site::kSecondVariance, n, y), layer.norm2_gamma,
                         layer.norm2_beta);
      };
      switch (config_.block) {
        case BlockKind::kParallel: {
          const Vector inverse_deviation =
              inverse_deviations(Site::kVariance, n, x);  // both norms': the same x
          const Vector n1 = normalise(x, inverse_deviation, layer.norm1_gamma, layer.norm1_beta);
          const Vector n2 = normalise(x, inverse_deviation, layer.norm2_gamma, layer.norm2_beta);
          const Vector attended = attend(n, n1), fed = feed(n, n2);
          for (size_t i = 0; i < x.size(); ++i) x[i] += attended[i] + fed[i];
          break;
        }
        case BlockKind::kPreNorm:
          x = observed_sum(n, x, attend(n, norm1(x)));
          x = sum(x, feed(n, norm2(x)));
          break;
        case BlockKind::kPostNorm:
          x = norm1(observed_sum(n, x, attend(n, x)));
          x = norm2(observed_sum(n, x, feed(n, x)));
          break;
      }
    }

    ForwardResult result;
    result.tokens = tokens_;
    for (int t = 0; t < tokens_; ++t) observe(Site::kResidual, config_.layers, t, &x[t * d], d);
    result.logits = head(config_.classes > 0 ? Vector(x.begin(), x.begin() + d) : x);
    result.hidden = std::move(x);
    return result;
  }

  // y = W x + b for each row of x; W has `in` columns.
  static Vector linear(const Vector& x, size_t in, const std::vector<float>& w, const std::vector<float>& b) {
    const size_t rows = x.size() / in, out = w.size() / in;
    Vector y(rows * out);
    for (size_t t = 0; t < rows; ++t)
      for (size_t i = 0; i < out; ++i) {
        double sum = b.empty() ? 0.0 : b[i];
        for (size_t j = 0; j < in; ++j) sum += static_cast<double>(w[i * in + j]) * x[t * in + j];
        y[t * out + i] = sum;
      }
    return y;
  }

 private:
  void observe(Site site, int layer, int position, const double* values, size_t count) const {
    if (hooks_.observe) hooks_.observe(site, layer, position, {values, count});
  }

  static Vector sum(Vector x, const Vector& y) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
    return x;
  }

  // A sum that a norm of layer n reads.
  Vector observed_sum(int n, const Vector& x, const Vector& y) const {
    const size_t d = config_.width;
    Vector total = sum(x, y);
    for (int t = 0; t < tokens_; ++t) observe(Site::kSum, n, t, &total[t * d], d);
    return total;
  }

  // What LayerNorm subtracts from row t, and RMSNorm does not.
  double mean(const Vector& x, int t) const {
    const int d = config_.width;
    double mean = 0;
    if (config_.norm == NormKind::kLayerNorm)
      for (int f = 0; f < d; ++f) mean += x[t * d + f] / d;
    return mean;
  }

  // Variance (LayerNorm) or mean square (RMSNorm) of row t, + norm_epsilon.
  double variance(const Vector& x, int t) const {
    const int d = config_.width;
    const double centre = mean(x, t);
    double variance = 0;
    for (int f = 0; f < d; ++f) variance += (x[t * d + f] - centre) * (x[t * d + f] - centre) / d;
    return variance + config_.norm_epsilon;
  }

  // 1 / sqrt(variance) of each row.
  Vector inverse_deviations(Site site, int layer, const Vector& x) const {
    Vector result(x.size() / config_.width);
    for (size_t t = 0; t < result.size(); ++t) {
      const double v = variance(x, static_cast<int>(t));
      observe(site, layer, static_cast<int>(t), &v, 1);
      result[t] = hooks_.inverse_square_root ? hooks_.inverse_square_root(site, layer, v) : 1 / std::sqrt(v);
    }
    return result;
  }

  // (x - mean) / deviation * gamma + beta.
  Vector normalise(const Vector& x, const Vector& inverse_deviation, const std::vector<float>& gamma,
                   const std::vector<float>& beta) const {
    const int d = config_.width;
    Vector y(x.size());
    for (size_t t = 0; t < inverse_deviation.size(); ++t) {
      const double centre = mean(x, static_cast<int>(t));
      for (int f = 0; f < d; ++f)
        y[t * d + f] =
            (x[t * d + f] - centre) * inverse_deviation[t] * gamma[f] + (beta.empty() ? 0.0 : beta[f]);
    }
    return y;
  }

  // A(n).
  Vector attend(int index, const Vector& n) const {
    const LayerWeights& layer = weights_.layers[index];
    const size_t d = config_.width;
    Vector q = linear(n, d, layer.wq, layer.bq), k = linear(n, d, layer.wk, layer.bk);
    rotate(q, config_.heads);
    rotate(k, config_.key_heads());
    return linear(attention(index, q, k, linear(n, d, layer.wv, layer.bv)), d, layer.wo, layer.bo);
  }

  // F(n).
  Vector feed(int index, const Vector& n) const {
    const LayerWeights& layer = weights_.layers[index];
    const size_t d = config_.width, ffn = config_.ffn;
    const bool gated = config_.feed_forward == FeedForwardKind::kSwiGlu;
    const Vector up = linear(n, d, layer.w_up, layer.b_up);
    Vector hidden = gated ? linear(n, d, layer.w_gate, {}) : up;
    for (int t = 0; t < tokens_; ++t) observe(Site::kGeluInput, index, t, &hidden[t * ffn], ffn);
    if (hooks_.gelu)
      hooks_.gelu(index, hidden);
    else
      for (double& z : hidden) z = activation(config_.feed_forward, z);
    if (gated)
      for (size_t i = 0; i < hidden.size(); ++i) hidden[i] *= up[i];
    return linear(hidden, ffn, layer.w_down, layer.b_down);
  }

  // The logits of each row of x.
  Vector head(Vector x) const {
    const size_t d = config_.width;
    if (config_.has_final_norm())
      x = normalise(x, inverse_deviations(Site::kVariance, config_.layers, x), weights_.final_gamma,
                    weights_.final_beta);
    if (config_.classes == 0) return linear(x, d, weights_.unembedding, {});
    if (config_.pooler) {
      x = linear(x, d, weights_.pooler_weight, weights_.pooler_bias);
      observe(Site::kPoolerInput, config_.layers, 0, x.data(), d);
      if (hooks_.pooler)
        hooks_.pooler(x);
      else
        for (double& z : x) z = sigmoid_of(z);
    }
    return linear(x, d, weights_.class_weight, weights_.class_bias);
  }

  // RoPE: turns the pair (i, i + rotary_dims/2) of each head by the angle t * base^(-2i / rotary_dims).
  void rotate(Vector& x, int heads) const {
    const int d = heads * config_.head_dim(), rotary = config_.rotary_dims();
    for (int t = 0; t < tokens_; ++t)
      for (int head = 0; head < heads; ++head)
        for (int i = 0; i < rotary / 2; ++i) {
          const double angle = t * std::pow(config_.rotary_base, -2.0 * i / rotary);
          double& a = x[t * d + head * config_.head_dim() + i];
          double& b = x[t * d + head * config_.head_dim() + i + rotary / 2];
          const double turned = a * std::cos(angle) - b * std::sin(angle);
          b = a * std::sin(angle) + b * std::cos(angle);
          a = turned;
        }
  }

  // Weights of one row of scores, in place.
  void weigh(int layer, int position, Vector& row) const {
    const int length = static_cast<int>(row.size());
    if (config_.attention == AttentionKind::kPowerSoftmax) {
      const double denominator =
          length_agnostic_denominator(row.data(), length, PowerParameters::of(config_));
      observe(Site::kDenominator, layer, position, &denominator, 1);
    }
    if (hooks_.row_weights) return hooks_.row_weights(layer, row);
    const Vector scores = row;
    row_weights(config_, scores.data(), length, row.data());
  }

  Vector attention(int layer, const Vector& q, const Vector& k, const Vector& v) const {
    const int d = config_.width, dims = config_.head_dim(), key_width = config_.key_width();
    Vector o(q.size());
    for (int head = 0; head < config_.heads; ++head) {
      const double *query = &q[head * dims], *key = &k[head * config_.key_heads() / config_.heads * dims],
                   *value = &v[key - k.data()];
      for (int t = 0; t < tokens_; ++t) {
        const int keys = config_.causal ? t + 1 : tokens_;
        Vector row(keys);
        for (int j = 0; j < keys; ++j) {
          for (int f = 0; f < dims; ++f) row[j] += query[t * d + f] * key[j * key_width + f];
          row[j] /= std::sqrt(static_cast<double>(dims));
          if (config_.has_score_offset()) row[j] += weights_.layers[layer].score_offset[head];
        }
        observe(Site::kScores, layer, t, row.data(), row.size());
        weigh(layer, t, row);
        for (int j = 0; j < keys; ++j)
          for (int f = 0; f < dims; ++f) o[t * d + head * dims + f] += row[j] * value[j * key_width + f];
      }
    }
    return o;
  }

  const ModelWeights& weights_;
  const ModelConfig& config_;
  const int tokens_;
  const ReferenceHooks& hooks_;
};

}  // namespace

ForwardResult reference_forward(const ModelWeights& weights, std::span<const int> tokens,
                                const ReferenceHooks& hooks) {
  const ModelConfig& config = weights.config;
  require_readable(config, tokens);
  Vector x;
  for (int token : tokens) {
    const auto row = weights.embedding.begin() + static_cast<std::ptrdiff_t>(token) * config.width;
    x.insert(x.end(), row, row + config.width);
  }
  return Reference(weights, static_cast<int>(tokens.size()), hooks).run(std::move(x));
}

ForwardResult reference_forward(const ModelWeights& weights, std::span<const float> patches,
                                const ReferenceHooks& hooks) {
  const ModelConfig& config = weights.config;
  require_readable(config, patches);
  const size_t inputs = config.patch_inputs, count = patches.size() / inputs;
  Vector x(weights.class_token.begin(), weights.class_token.end());
  const Vector embedded =
      Reference::linear({patches.begin(), patches.end()}, inputs, weights.patch_weight, weights.patch_bias);
  x.insert(x.end(), embedded.begin(), embedded.end());
  return Reference(weights, static_cast<int>(count) + 1, hooks).run(std::move(x));
}

}  // namespace psm::attention
