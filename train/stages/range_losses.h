// The range losses of a model (Algorithm 1, step 2). Training adds them to the cross entropy, so that every
// non-polynomial function is needed on a small interval only. Zero weights switch a loss off.
//
// Notation: s scores, D = mean_i s_i^p + epsilon, u the inputs of GELU, SiLU or a head's sigmoid, v the
// norms' variances or mean squares, x the residual stream entering a layer, x_f and v_f the same for the
// final norm. The paper's terms are the peaks. The smooth ones act on every entry outside its interval at
// once. That takes hundreds of steps, the peaks alone thousands.
//
// Tokens that only fill up a batch count neither in a loss nor in its mean.
#pragma once

#include "attention/trained/model.h"
#include "train/data/data.h"

namespace psm::train {

// mean ln v is over the tokens in one part of the batch (trainer.h).
struct RangeLosses {
  double score_peak = 0;             // mean over examples of max |s|, each layer (eq. PWRoss)
  double gelu_peak = 0;              // mean over examples of max |u|, each layer
  double score_excess = 0;           // mean over examples of sum max(0, |s| - score_limit)^2
  double gelu_excess = 0;            // mean over examples of sum max(0, |u| - gelu_limit)^2
  double denominator_excess = 0;     // mean over rows of max(0, ln D - ln denominator_limit)^2
  double variance_width = 0;         // mean over tokens of max(0, |ln v - mean ln v| - variance_half_width)^2
  double residual_excess = 0;        // mean over examples of sum max(0, |x| - residual_limit)^2
  double final_variance_width = 0;   // as variance_width, of v_f at the scored positions
  double final_residual_excess = 0;  // as residual_excess, of x_f

  double score_limit = 2, gelu_limit = 2, denominator_limit = 2, residual_limit = 3.5,
         final_residual_limit = 6;
  double variance_half_width = 0.15, final_variance_half_width = 0.5;
};

// The weights measured on the recall task.
RangeLosses default_range_losses();
// The paper's losses: eq. PWRoss and the same peak for GELU's inputs, with the weights of Pythia-70M
// (tab:pythia_params).
RangeLosses paper_range_losses();
// Gentler losses for text, where tight intervals cost perplexity: denominators end within a ratio of about
// 500 instead of 25, variances within about 7.
RangeLosses text_range_losses();

// The losses of scores, which the forward pass over a part of the batch computes (attention/trained/attention_ops.h).
attention::ScoreLosses score_losses_of(const RangeLosses& ranges, const attention::ModelConfig& config,
                                       const Batch& batch);

// loss + all range losses of a part of the batch, recorded on the tape. The losses of scores come from the forward pass
// over the part, which is `input`. `targets` has one for each row of its logits, and outlives the backward pass.
nn::Tensor<float> add_range_losses(nn::Tape<float>& tape, nn::Tensor<float> loss, const RangeLosses& ranges,
                                   const attention::ModelConfig& config,
                                   const attention::ForwardTensors<float>& out, const Batch& batch,
                                   const attention::ModelInput& input, const int* targets);

}  // namespace psm::train
