// The suite `train` of //cmd:bench: a step of training, compared with the processor's peak.
//
// There is a row for each kind of attention and number of threads: medians of TrainSuiteOptions::steps steps
// after one that is not counted. Forward, backward (both with the cross entropy) and the optimiser (with the
// sum of the parts' gradients) add up to the step, without the drawing of data. The data are random bytes,
// because the cost of a step does not depend on them.
//
// gflops counts the floating-point operations of the matrix products that training needs, two for each entry and inner
// index, whatever the program does. These are, in each layer, W_q, W_k, W_v, W_o, W_up, W_down on every token, and q k'
// and w v on the pairs of tokens that the causal mask leaves; and the unembedding. All count three times, because a
// product's backward pass is two products of its size. peak_gflops is the measured rate of multiply-adds of that
// precision on registers, with as many threads; fp32's if the processor has no unit for bf16.
#pragma once

#include "attention/shape/config.h"
#include "cmd/terminal/figures.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct TrainSuiteOptions {
  attention::ModelConfig model;  // attention is set row by row
  int batch = 16;
  int steps = 5;
  Starting starting = tell_nobody;
};

// GPT-NeoX blocks, d = 256, 6 layers, 8 heads, feed-forward 4 d, context 256, vocabulary 256.
TrainSuiteOptions default_train_suite();

// Floating-point operations of one step.
double training_step_flops(const attention::ModelConfig& model, int batch);

// softmax and power_softmax, fp32 and bf16, on one thread, and on thread_count() if that is more.
Figures train_suite(const TrainSuiteOptions& options);

}  // namespace psm::cmd
