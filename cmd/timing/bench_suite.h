// The suite `ckks` of //cmd:bench: the operations of the scheme and its bootstrap, timed.
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

// A row for each operation. The context must be able to bootstrap. With the threads and the backend in use.
Figures ckks_suite(const ckks::Context& context, const SuiteOptions& options);

// What a run needs at its peak, the bootstrap with its keys; predicted.
size_t ckks_suite_bytes(const ckks::Context& context);

}  // namespace psm::cmd
