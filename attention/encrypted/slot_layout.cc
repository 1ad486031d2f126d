#include "attention/encrypted/slot_layout.h"

#include <algorithm>
#include <cmath>

namespace psm::attention {

using Vector = std::vector<double>;

nn::SlotMatrix arrange(const FeatureLayout& rows, const FeatureLayout& columns,
                       const std::function<double(int row, int column)>& entry) {
  nn::SlotMatrix matrix{rows.size(), columns.size(), {}};
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

nn::SlotMatrix shape_of(const FeatureLayout& rows, const FeatureLayout& columns) {
  const auto used = [](const FeatureLayout& layout) {
    std::vector<bool> used;
    for (int f = 0; f < layout.size(); ++f) used.push_back(layout.re[f] >= 0 || layout.im[f] >= 0);
    return used;
  };
  return {rows.size(), columns.size(), {}, used(rows), used(columns)};
}

std::vector<ckks::Plain> arrange(const FeatureLayout& layout, int features, const Vector& vector) {
  if (vector.empty())
    return std::vector<ckks::Plain>(static_cast<size_t>(layout.size() / features),
                                    ckks::Plain::shape_only(static_cast<size_t>(features), false));
  std::vector<ckks::Plain> plains;
  auto part = [&](int i) { return i < 0 ? 0.0 : vector[i]; };
  for (int first = 0; first < layout.size(); first += features) {
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

FoldedNorm fold_norm(const PolynomialModel& model, const Packing& packing,
                     const approx::Approximation& inverse_sqrt) {
  const Vector range = residual_scale(model, packing);
  const ModelConfig& config = model.weights.config;
  const double scale = inverse_sqrt.input_scale();
  FoldedNorm norm{{}, scale * config.norm_epsilon + inverse_sqrt.input_offset()};
  for (int f = 0; f < packing.state.size(); ++f) {
    const int re = packing.state.re[f];
    const double r = re < 0 ? 0 : range[re];
    norm.weight.push_back(scale * r * r / static_cast<double>(config.width));
  }
  return norm;
}

nn::SlotMatrix NormReading::matrix(const std::vector<float>& w, const FeatureLayout& rows,
                                   const FeatureLayout& state, double scale) const {
  if (w.empty()) return shape_of(rows, state);
  const size_t d = gamma.size();
  return arrange(rows, state, [&](int row, int column) {
    const size_t i = static_cast<size_t>(row), j = static_cast<size_t>(column);
    return static_cast<double>(w[i * d + j]) * static_cast<double>(gamma[j]) * unit[j] * scale;
  });
}

Vector NormReading::bias(const std::vector<float>& w, const std::vector<float>& b) const {
  if (w.empty()) return {};
  const size_t d = gamma.size();
  Vector sum(w.size() / d);
  std::ranges::copy(b, sum.begin());
  for (size_t i = 0; i < sum.size(); ++i)
    for (size_t j = 0; j < beta.size(); ++j)
      sum[i] += static_cast<double>(w[i * d + j]) * static_cast<double>(beta[j]);
  return sum;
}

double NormReading::bound(const std::vector<float>& w, const Vector& bias) const {
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

NormReading attention_reading(const PolynomialModel& model, const Packing& packing, int layer) {
  const ModelWeights& weights = model.weights;
  const LayerWeights& w = weights.layers[layer];
  if (weights.config.block != BlockKind::kPostNorm)
    return reading_of(w.norm1_gamma, w.norm1_beta, model, packing,
                      layer == 0 && model.client_normalises() ? nullptr : &model.layers[layer].inverse_sqrt);
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

}  // namespace psm::attention
