#include "attention/rows/rounded_rows.h"

#include <algorithm>

#include "attention/rows/power_softmax.h"
#include "attention/rows/softmax.h"
#include "ckks/base/error.h"
#include "nn/kernels/row_maxima.h"
#include "nn/kernels/row_operations.h"

namespace psm::attention {
namespace {

// What a row of scores is made of on the way to its weights.
struct RoundedRow {
  float *y, *powers;  // [length]; of the scratch
  size_t peak = 0;
  float c = 1, denominator = 0;

  RoundedRow(const ModelConfig& config, nn::Rounding to, const float* scores, int length, float* scratch)
      : y(scratch), powers(scratch + length) {
    const auto count = static_cast<size_t>(length);
    const auto epsilon = static_cast<float>(config.epsilon);
    std::copy_n(scores, count, y);
    nn::round_row(to, y, count);
    if (config.form == PowerForm::kStable) {
      peak = nn::peak(y, count);
      c = nn::rounded(to, std::abs(y[peak]) + static_cast<float>(config.stable_delta));
      for (size_t j = 0; j < count; ++j) y[j] /= c;
      nn::round_row(to, y, count);
    }
    nn::powers(y, 1.0f, config.power, count, powers);
    nn::round_row(to, powers, count);
    float sum = 0;
    for (size_t j = 0; j < count; ++j) sum += powers[j];
    switch (config.form) {
      case PowerForm::kPlain:
        denominator = nn::rounded(to, sum);
        break;
      case PowerForm::kLipschitz:
      case PowerForm::kStable:
        denominator = nn::rounded(to, nn::rounded(to, sum) + epsilon);
        break;
      case PowerForm::kLengthAgnostic: {  // of the mean, times L
        const auto entries = static_cast<float>(length);
        denominator = nn::rounded(to, nn::rounded(to, sum / entries) + epsilon) * entries;
        break;
      }
    }
  }
};

}  // namespace

void rounded_row_weights(const ModelConfig& config, nn::Rounding rounding, const float* scores, int length,
                         float* weights, float* scratch) {
  const auto count = static_cast<size_t>(length);
  if (config.attention == AttentionKind::kSoftmax) {
    std::copy_n(scores, count, scratch);
    nn::round_row(rounding, scratch, count);
    softmax_row(scratch, length, weights);
  } else {
    PSM_CHECK(config.attention == AttentionKind::kPowerSoftmax);
    const RoundedRow row(config, rounding, scores, length, scratch);
    for (size_t j = 0; j < count; ++j) weights[j] = row.powers[j] / row.denominator;
  }
  nn::round_row(rounding, weights, count);
}

void rounded_row_weights_vjp(const ModelConfig& config, nn::Rounding rounding, const float* scores,
                             const float* weights, const float* grad_weights, int length, float* grad_scores,
                             float* scratch) {
  if (config.attention == AttentionKind::kSoftmax)
    return softmax_row_vjp(weights, grad_weights, length, grad_scores);
  PSM_CHECK(config.attention == AttentionKind::kPowerSoftmax);
  const auto count = static_cast<size_t>(length);
  const int p = config.power;
  const RoundedRow row(config, rounding, scores, length, scratch);
  const float inner = nn::dot(grad_weights, weights, count);
  float* const slopes = scratch + 2 * count;  // y^(p - 1)
  for (size_t j = 0; j < count; ++j) slopes[j] = nn::integer_power(row.y[j], p - 1);
  nn::round_row(rounding, slopes, count);
  const float scale = static_cast<float>(p) / row.denominator / row.c;
  for (size_t j = 0; j < count; ++j) grad_scores[j] = slopes[j] * (grad_weights[j] - inner) * scale;
  if (config.form != PowerForm::kStable) return;
  const float grad_c = -nn::dot(grad_scores, row.y, count);
  grad_scores[row.peak] += row.y[row.peak] < 0 ? -grad_c : grad_c;
}

}  // namespace psm::attention
