// The range losses of a model (Algorithm 1, step 2): what training adds to the cross entropy so that every
// non-polynomial function is needed on a small interval only. Zero weights switch a loss off.
//
// Notation: s scores, D = mean_i s_i^p + epsilon, u GELU's or SiLU's inputs and those of a head's sigmoid, v
// the norms' variances or mean squares, x the residual stream entering a layer, x_f and v_f the same of the
// final norm. The paper's terms are the peaks; the smooth ones added to them act on every entry outside its
// interval at once, which takes hundreds of steps where the peaks alone take thousands.
//
// Tokens that only fill up a batch count nowhere: not in a loss, nor in what its mean is taken over.
#pragma once

#include "attention/trained/model.h"

namespace psm::train {

// The mean ln v is that of the tokens in one part of the batch (trainer.h).
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

  bool operator==(const RangeLosses&) const = default;
};

// The weights measured on the recall task.
RangeLosses default_range_losses();
// The paper's: eq. PWRoss and the same peak of GELU's inputs, weighted as for Pythia-70M (tab:pythia_params).
RangeLosses paper_range_losses();
// Gentler ones for text, where tight intervals cost perplexity: denominators end within a ratio of about 500
// instead of 25, variances of about 7.
RangeLosses text_range_losses();

// Where a part of a batch lies in the whole.
struct BatchPart {
  int sequences, length;
  int batch;                     // sequences of the whole batch
  size_t tokens;                 // real tokens of the whole batch
  const int* targets;            // of this part, one for each row of logits; outlives the backward pass
  size_t scored;                 // scored positions of the whole batch
  const int* lengths = nullptr;  // [sequences] real tokens of this part; nullptr: all of `length`
};

// Those of scores, which the forward pass over a part takes on its way (attention/trained/score_losses.h).
attention::ScoreLosses score_losses_of(const RangeLosses& ranges, const attention::ModelConfig& config,
                                       const BatchPart& part);

// loss + all range losses, recorded on the tape; of scores those that the forward pass took.
nn::Tensor<float> add_range_losses(nn::Tape<float>& tape, nn::Tensor<float> loss, const RangeLosses& ranges,
                                   const attention::ModelConfig& config,
                                   const attention::ForwardTensors<float>& out, const BatchPart& part);

}  // namespace psm::train
