#include "attention/encrypted/folded_weights.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "ckks/base/error.h"

namespace psm::attention {

namespace {

using Vector = std::vector<double>;
using Entry = std::function<double(int row, int column)>;

// A real matrix with the rows and columns that the layouts name, in slot order.
nn::SlotMatrix arrange(const FeatureLayout& rows, const FeatureLayout& columns, const Entry& entry) {
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

// A real vector as one plaintext of period F for each ciphertext.
std::vector<ckks::Plain> arrange(const FeatureLayout& layout, int features, const Vector& vector) {
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

// b + W beta.
Vector with_beta(const std::vector<float>& w, const std::vector<float>& b, const std::vector<float>& beta) {
  Vector sum(b.begin(), b.end());
  for (size_t i = 0; i < b.size(); ++i)
    for (size_t j = 0; j < beta.size(); ++j)
      sum[i] += static_cast<double>(w[i * beta.size() + j]) * static_cast<double>(beta[j]);
  return sum;
}

Vector scaled(Vector vector, double factor) {
  for (double& x : vector) x *= factor;
  return vector;
}

// (I - 1 1^T / d) W: every column less its mean.
Vector centred_rows(const std::vector<float>& w, size_t rows) {
  const size_t columns = w.size() / rows;
  Vector centred(w.begin(), w.end());
  for (size_t c = 0; c < columns; ++c) {
    double mean = 0;
    for (size_t r = 0; r < rows; ++r) mean += centred[r * columns + c] / static_cast<double>(rows);
    for (size_t r = 0; r < rows; ++r) centred[r * columns + c] -= mean;
  }
  return centred;
}

}  // namespace

std::vector<double> residual_scale(const PolynomialModel& model, const Packing& packing) {
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
  const LayerWeights& w = model.weights.layers[index];
  const LayerRanges& ranges = model.ranges.layers[index];
  const LayerApproximations& polynomials = model.layers[index];
  const Vector range = residual_scale(model, packing);
  const size_t d = static_cast<size_t>(config.width), ffn = static_cast<size_t>(config.ffn);
  const bool normalised_by_client = index == 0 && model.options.client_norm;

  // What one unit of h' is worth, for each real feature.
  Vector unit(d, 1.0);
  if (!normalised_by_client)
    for (size_t f = 0; f < d; ++f) unit[f] = range[f] * polynomials.inverse_sqrt.output_scale();

  const double hi = ranges.denominator.hi;
  const double query_scale =
      1 / std::sqrt(std::sqrt(static_cast<double>(config.head_dim())) * std::pow(hi, 1.0 / config.power));
  const double gelu_scale = polynomials.gelu.input_scale() / 2;

  const Vector v_bias = with_beta(w.wv, w.bv, w.norm1_beta);
  double value_bound = 0;  // V
  for (size_t i = 0; i < d; ++i) {
    double square = 0;
    for (size_t j = 0; j < d; ++j) {
      const double entry = static_cast<double>(w.wv[i * d + j]) * static_cast<double>(w.norm1_gamma[j]);
      square += entry * entry;
    }
    value_bound = std::max(value_bound, std::sqrt(square * static_cast<double>(d)) + std::abs(v_bias[i]));
  }
  if (value_bound == 0) value_bound = 1;
  const double value_range = hi * polynomials.inverse().output_scale(),
               value_scale = value_range / value_bound;

  auto reading = [&](const std::vector<float>& matrix, const std::vector<float>& gamma, double scale,
                     const FeatureLayout& rows) {
    return arrange(rows, packing.state, [&, scale](int row, int column) {
      const size_t j = static_cast<size_t>(column);
      return static_cast<double>(matrix[row * d + j]) * static_cast<double>(gamma[j]) * unit[j] * scale;
    });
  };
  auto writing = [&](const std::vector<float>& matrix, size_t columns_of_matrix, double scale,
                     const FeatureLayout& columns) {
    const Vector centred = centred_rows(matrix, d);
    return arrange(packing.state, columns, [&](int row, int column) {
      const size_t i = static_cast<size_t>(row);
      return centred[i * columns_of_matrix + column] * scale / range[i];
    });
  };

  FoldedLayer folded;
  folded.value_range = value_range;
  const int F = packing.features;
  folded.q = reading(w.wq, w.norm1_gamma, query_scale, packing.heads);
  folded.k = reading(w.wk, w.norm1_gamma, query_scale, packing.heads);
  folded.v = reading(w.wv, w.norm1_gamma, value_scale, packing.heads);
  folded.up = reading(w.w_up, w.norm2_gamma, gelu_scale, packing.ffn);
  folded.o = writing(w.wo, d, value_bound, packing.heads);
  folded.down = writing(w.w_down, ffn, polynomials.gelu.output_scale(), packing.ffn);
  folded.q_bias = arrange(packing.heads, F, scaled(with_beta(w.wq, w.bq, w.norm1_beta), query_scale));
  folded.k_bias = arrange(packing.heads, F, scaled(with_beta(w.wk, w.bk, w.norm1_beta), query_scale));
  folded.v_bias = arrange(packing.heads, F, scaled(v_bias, value_scale));
  folded.up_bias = arrange(packing.ffn, F, scaled(with_beta(w.w_up, w.b_up, w.norm2_beta), gelu_scale));
  if (config.has_score_offset()) {
    const int heads = F / packing.head_features;  // of a ciphertext
    for (int first = 0; first < packing.heads.size() / packing.head_features; first += heads) {
      Vector& offsets = folded.score_offset.emplace_back(static_cast<size_t>(heads));
      for (int head = first; head < std::min(first + heads, config.heads); ++head)
        offsets[head - first] = static_cast<double>(w.score_offset[head]) * std::pow(hi, -1.0 / config.power);
    }
  }
  Vector out_bias(d);
  double mean = 0;
  for (size_t i = 0; i < d; ++i) {
    out_bias[i] = static_cast<double>(w.bo[i]) + static_cast<double>(w.b_down[i]);
    mean += out_bias[i] / static_cast<double>(d);
  }
  for (size_t i = 0; i < d; ++i) out_bias[i] = (out_bias[i] - mean) / range[i];
  folded.out_bias = arrange(packing.state, F, out_bias);

  const double norm_scale = polynomials.inverse_sqrt.input_scale();
  for (int f = 0; f < packing.state.size(); ++f) {
    const int re = packing.state.re[f];
    const double r = re < 0 ? 0 : range[re];
    folded.variance_weight.push_back(norm_scale * r * r / static_cast<double>(d));
  }
  folded.variance_offset = norm_scale * config.norm_epsilon + polynomials.inverse_sqrt.input_offset();

  const approx::Approximation& inverse = polynomials.inverse();
  folded.row_sum_factor = inverse.input_scale() * hi;
  for (int first = 0; first < packing.heads.size(); first += F) {
    std::vector<ckks::Complex> offset;
    for (int f = first; f < first + F; ++f) {
      const bool used = f / packing.head_features < config.heads;
      offset.push_back(used ? inverse.input_scale() * config.epsilon + inverse.input_offset()
                            : inverse.input_range().midpoint());
    }
    folded.denominator_offset.emplace_back(std::move(offset));
  }
  return folded;
}

FoldedLayer shape_of_layer(const ModelConfig& config, const Packing& packing) {
  auto biases = [&](const FeatureLayout& layout, bool real = false) {
    return std::vector<ckks::Plain>(static_cast<size_t>(layout.size() / packing.features),
                                    ckks::Plain::shape_only(static_cast<size_t>(packing.features), real));
  };
  const int state = packing.state.size(), heads = packing.heads.size(), ffn = packing.ffn.size();
  FoldedLayer folded;
  folded.q = folded.k = folded.v = {heads, state, {}};
  folded.up = {ffn, state, {}};
  folded.o = {state, heads, {}};
  folded.down = {state, ffn, {}};
  folded.q_bias = folded.k_bias = folded.v_bias = biases(packing.heads);
  folded.up_bias = biases(packing.ffn);
  folded.out_bias = biases(packing.state);
  folded.denominator_offset = biases(packing.heads, true);
  if (config.has_score_offset())
    folded.score_offset.assign(static_cast<size_t>(packing.head_ciphertexts()),
                               Vector(static_cast<size_t>(packing.features / packing.head_features), 1.0));
  folded.variance_weight.assign(static_cast<size_t>(state), 1.0 / config.width);
  return folded;
}

}  // namespace psm::attention
