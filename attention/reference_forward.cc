#include "attention/reference_forward.h"

#include <cmath>

#include "approx/activation.h"
#include "attention/power_softmax.h"
#include "attention/row_weights.h"
#include "ckks/base/error.h"

namespace psm {
namespace {

using Vector = std::vector<double>;

double exact_gelu(double z) { return z / (1.0 + std::exp(-1.702 * z)); }

// The run of one sequence; every member works on all its tokens, row t of a matrix belonging to token t.
class Reference {
 public:
  Reference(const ModelWeights& weights, int tokens, const ReferenceHooks& hooks)
      : weights_(weights), config_(weights.config), tokens_(tokens), hooks_(hooks) {}

  ForwardResult run(std::span<const int> tokens) {
    const int d = config_.width;
    Vector x(static_cast<std::size_t>(tokens_) * d);
    for (int t = 0; t < tokens_; ++t)
      for (int f = 0; f < d; ++f)
        x[t * d + f] = weights_.embedding[static_cast<std::size_t>(tokens[t]) * d + f];

    for (int n = 0; n < config_.layers; ++n) {
      const LayerWeights& layer = weights_.layers[n];
      const Vector inverse_deviation = inverse_deviations(n, x);
      const Vector n1 = normalise(x, inverse_deviation, layer.norm1_gamma, layer.norm1_beta);
      const Vector n2 = normalise(x, inverse_deviation, layer.norm2_gamma, layer.norm2_beta);
      Vector q = linear(n1, layer.wq, layer.bq), k = linear(n1, layer.wk, layer.bk);
      const Vector v = linear(n1, layer.wv, layer.bv);
      rotate(q);
      rotate(k);
      const Vector o = linear(attention(n, q, k, v), layer.wo, layer.bo);
      Vector hidden = linear(n2, layer.w_up, layer.b_up);
      for (int t = 0; t < tokens_; ++t)
        observe(Site::kGeluInput, n, t, &hidden[t * config_.ffn], config_.ffn);
      for (double& z : hidden) z = hooks_.gelu ? hooks_.gelu(n, z) : exact_gelu(z);
      const Vector fed = linear(hidden, layer.w_down, layer.b_down);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += o[i] + fed[i];
    }

    ForwardResult result;
    result.tokens = tokens_;
    const Vector inverse_deviation = inverse_deviations(config_.layers, x);
    const Vector normed = normalise(x, inverse_deviation, weights_.final_gamma, weights_.final_beta);
    result.logits = linear(normed, weights_.unembedding, {});
    result.hidden = std::move(x);
    return result;
  }

 private:
  void observe(Site site, int layer, int position, const double* values, std::size_t count) const {
    if (hooks_.observe) hooks_.observe(site, layer, position, {values, count});
  }

  // y = W x + b for each token.
  Vector linear(const Vector& x, const std::vector<float>& w, const std::vector<float>& b) const {
    const std::size_t in = x.size() / tokens_, out = w.size() / in;
    Vector y(tokens_ * out);
    for (int t = 0; t < tokens_; ++t)
      for (std::size_t i = 0; i < out; ++i) {
        double sum = b.empty() ? 0.0 : b[i];
        for (std::size_t j = 0; j < in; ++j) sum += static_cast<double>(w[i * in + j]) * x[t * in + j];
        y[t * out + i] = sum;
      }
    return y;
  }

  // 1 / sqrt(variance + norm_epsilon) of each token. Both norms of a layer see the same x and share it.
  Vector inverse_deviations(int layer, const Vector& x) const {
    const int d = config_.width;
    Vector result(tokens_);
    for (int t = 0; t < tokens_; ++t) {
      observe(Site::kResidual, layer, t, &x[t * d], d);
      double mean = 0, variance = 0;
      for (int f = 0; f < d; ++f) mean += x[t * d + f] / d;
      for (int f = 0; f < d; ++f) variance += (x[t * d + f] - mean) * (x[t * d + f] - mean) / d;
      variance += config_.norm_epsilon;
      observe(Site::kVariance, layer, t, &variance, 1);
      result[t] =
          hooks_.inverse_square_root ? hooks_.inverse_square_root(layer, variance) : 1 / std::sqrt(variance);
    }
    return result;
  }

  // LayerNorm: (x - mean) / deviation * gamma + beta.
  Vector normalise(const Vector& x, const Vector& inverse_deviation, const std::vector<float>& gamma,
                   const std::vector<float>& beta) const {
    const int d = config_.width;
    Vector y(x.size());
    for (int t = 0; t < tokens_; ++t) {
      double mean = 0;
      for (int f = 0; f < d; ++f) mean += x[t * d + f] / d;
      for (int f = 0; f < d; ++f)
        y[t * d + f] = (x[t * d + f] - mean) * inverse_deviation[t] * gamma[f] + beta[f];
    }
    return y;
  }

  // RoPE: turns the pair (i, i + rotary_dims/2) of each head by the angle t * base^(-2i / rotary_dims).
  void rotate(Vector& x) const {
    const int d = config_.width, rotary = config_.rotary_dims();
    for (int t = 0; t < tokens_; ++t)
      for (int head = 0; head < config_.heads; ++head)
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
    if (hooks_.weights) return hooks_.weights(layer, row);
    const Vector scores = row;
    row_weights(config_, scores.data(), length, row.data());
  }

  Vector attention(int layer, const Vector& q, const Vector& k, const Vector& v) const {
    const int d = config_.width, dims = config_.head_dim();
    Vector o(q.size());
    for (int head = 0; head < config_.heads; ++head)
      for (int t = 0; t < tokens_; ++t) {
        Vector row(t + 1);
        for (int j = 0; j <= t; ++j) {
          for (int f = head * dims; f < (head + 1) * dims; ++f) row[j] += q[t * d + f] * k[j * d + f];
          row[j] /= std::sqrt(static_cast<double>(dims));
        }
        observe(Site::kScores, layer, t, row.data(), row.size());
        weigh(layer, t, row);
        for (int j = 0; j <= t; ++j)
          for (int f = head * dims; f < (head + 1) * dims; ++f) o[t * d + f] += row[j] * v[j * d + f];
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
  if (const std::string other = weights.config.departure_from_gpt_neox(); !other.empty())
    throw Error(message("this model cannot be run yet: ", other, "; give GPT-NeoX's architecture"));
  if (tokens.empty()) throw Error("the prompt is empty; give at least one token");
  if (tokens.size() > static_cast<std::size_t>(weights.config.context))
    throw Error(message("the prompt has ", tokens.size(), " tokens but the model's context is ",
                        weights.config.context, "; shorten it"));
  for (int token : tokens)
    if (token < 0 || token >= weights.config.vocab)
      throw Error(message("token ", token, " is not in the model's vocabulary of ", weights.config.vocab,
                          "; use tokens from 0 to ", weights.config.vocab - 1));
  return Reference(weights, static_cast<int>(tokens.size()), hooks).run(tokens);
}

}  // namespace psm
