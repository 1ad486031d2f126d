// The suite `ckks` of //cmd:bench: the operations of the scheme and its bootstrap, timed and compared with the time of
// their kernels: the work that the cost model counts (ckks/program/planning/cost_model.h), at the calibrated seconds of
// each kernel. Embedding and drawing of random numbers are left out of that.
//
// Times are by the clock: medians and minima of at least SuiteOptions::repetitions runs after one that is not
// counted, and of more where a run is short. A row that is named like an operation of Evaluator times that
// call alone: multiply_relinearise and multiply_plain do not rescale. The two NTT rows take one limb with one
// thread. Limbs of bootstraps are those of their results.
#pragma once

#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/figures.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct BenchFigures {
  Figures operations;  // a row each
  Figures details;     // for people: what only one row has, such as precisions
};

// The context must be able to bootstrap. With the threads and the backend in use.
BenchFigures ckks_suite(const ckks::Context& context, const SuiteOptions& options);

// What a run needs at its peak, the bootstrap with its keys; predicted.
size_t ckks_suite_bytes(const ckks::Context& context);

}  // namespace psm::cmd
