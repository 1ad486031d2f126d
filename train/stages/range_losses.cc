#include "train/stages/range_losses.h"

#include <algorithm>

#include "nn/layers/activations.h"
#include "nn/layers/norm.h"
#include "nn/layers/range_loss.h"

namespace psm::train {

namespace {

// Marks (nn/layers/range_loss.h) of rows for each token: -1 where none is. nullptr if all are real.
const int* marks_of_real_rows(nn::Tape<float>& tape, const attention::ModelInput& input) {
  if (input.lengths.empty()) return nullptr;
  int* marks = tape.array_of<int>(input.lengths.size() * input.length);
  int* next = marks;
  for (const int length : input.lengths)
    for (int t = 0; t < input.length; ++t) *next++ = t < length ? 0 : -1;
  return marks;
}

double per_token_of(const Batch& batch) { return 1.0 / static_cast<double>(batch.real_tokens()); }

}  // namespace

RangeLosses default_range_losses() {
  RangeLosses losses;
  losses.score_peak = losses.gelu_peak = 1e-3;
  losses.score_excess = losses.gelu_excess = 0.1;
  losses.denominator_excess = 20;
  losses.variance_width = 1;
  losses.residual_excess = 0.02;
  losses.final_variance_width = 0.3;
  losses.final_residual_excess = 0.02;
  return losses;
}

RangeLosses paper_range_losses() { return {.score_peak = 1e-4, .gelu_peak = 1e-4}; }

RangeLosses text_range_losses() {
  RangeLosses losses;
  losses.score_peak = losses.gelu_peak = 1e-4;
  losses.score_excess = losses.gelu_excess = 0.01;
  losses.score_limit = 10, losses.gelu_limit = 7;
  losses.denominator_limit = 60;
  losses.denominator_excess = 5;
  losses.variance_half_width = 1;
  losses.variance_width = 0.3;
  losses.residual_limit = 14;
  losses.residual_excess = losses.final_residual_excess = 0.002;
  return losses;
}

attention::ScoreLosses score_losses_of(const RangeLosses& ranges, const attention::ModelConfig& config,
                                       const Batch& batch) {
  const double per_example = 1.0 / batch.sequences;
  attention::ScoreLosses losses;
  losses.peak = ranges.score_peak * per_example;
  losses.excess = ranges.score_excess * per_example;
  losses.limit = ranges.score_limit;
  if (config.attention == attention::AttentionKind::kPowerSoftmax)
    losses.denominator_excess = ranges.denominator_excess * per_token_of(batch) / config.heads;
  losses.denominator_limit = ranges.denominator_limit;
  return losses;
}

nn::Tensor<float> add_range_losses(nn::Tape<float>& tape, nn::Tensor<float> loss, const RangeLosses& ranges,
                                   const attention::ModelConfig& config,
                                   const attention::ForwardTensors<float>& out, const Batch& batch,
                                   const attention::ModelInput& input, const int* targets) {
  const double per_example = 1.0 / batch.sequences;
  const double per_token = per_token_of(batch);
  const double per_scored = 1.0 / static_cast<double>(std::max<size_t>(1, batch.scored()));
  const int T = input.length;
  const int* const tokens = marks_of_real_rows(tape, input);
  auto add = [&](double weight, auto term) {
    if (weight > 0) loss = nn::add_scaled(tape, loss, term(), weight);
  };
  const bool centred = config.norm == attention::NormKind::kLayerNorm;
  const auto variances = [&](nn::Tensor<float> x, bool without_mean) {
    return nn::row_variances(tape, x, without_mean, config.norm_epsilon);
  };

  for (int n = 0; n < config.layers; ++n) {
    const nn::Tensor<float>&u = out.gelu_inputs[n], &x = out.residual[n];
    if (out.score_losses) loss = nn::add_scaled(tape, loss, out.score_loss[n], 1);
    add(ranges.gelu_peak, [&] { return nn::peak_loss(tape, u, tokens, T, per_example); });
    add(ranges.gelu_excess, [&] { return nn::excess_loss(tape, u, tokens, ranges.gelu_limit, per_example); });
    const auto add_width = [&](nn::Tensor<float> y) {
      add(ranges.variance_width, [&] {
        return nn::log_width_loss(tape, variances(y, centred), tokens, ranges.variance_half_width, per_token);
      });
    };
    add_width(out.norm1_inputs[n]);
    if (config.block != attention::BlockKind::kParallel)
      add_width(out.norm2_inputs[n]);  // parallel: the same x
    add(ranges.residual_excess,
        [&] { return nn::excess_loss(tape, x, tokens, ranges.residual_limit, per_example); });
  }
  const nn::Tensor<float>& x = out.residual.back();
  if (const nn::Tensor<float>& y = out.final_norm_input; y.value != nullptr)
    add(ranges.final_variance_width, [&] {
      return nn::log_width_loss(tape, variances(y, centred && !config.mean_pooling), targets,
                                ranges.final_variance_half_width, per_scored);
    });
  if (const nn::Tensor<float>& z = out.pooler_inputs; z.value != nullptr) {
    add(ranges.gelu_peak, [&] { return nn::peak_loss(tape, z, nullptr, 1, per_example); });
    add(ranges.gelu_excess,
        [&] { return nn::excess_loss(tape, z, nullptr, ranges.gelu_limit, per_example); });
  }
  add(ranges.final_residual_excess,
      [&] { return nn::excess_loss(tape, x, tokens, ranges.final_residual_limit, per_example); });
  return loss;
}

}  // namespace psm::train
