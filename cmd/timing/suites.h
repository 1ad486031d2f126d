// The suites of //cmd:bench that time encrypted operations, and their timer: medians and minima of repeated runs.
#pragma once

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/device/device.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/deployment/deployment.h"
#include "cmd/server/run_figures.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

struct Times {
  double median = 0, least = 0;  // seconds
};

// Summarises at least one run, in any order. The median of an even number is the later of the middle two.
inline Times times_of(std::vector<double> seconds) {
  PSM_CHECK(!seconds.empty());
  std::sort(seconds.begin(), seconds.end());
  return {seconds[seconds.size() / 2], seconds.front()};
}

// At least `runs` runs, and more until `total` seconds are over.
template <typename Body>
Times time_runs(int runs, double total, const Body& body) {
  std::vector<double> seconds;
  const double start = seconds_now();
  while (static_cast<int>(seconds.size()) < runs || seconds_now() - start < total) {
    const double begin = seconds_now();
    body();
    seconds.push_back(seconds_now() - begin);
  }
  return times_of(std::move(seconds));
}

// The same after a run that is not counted. Short runs are repeated for a fifth of a second.
template <typename Body>
Times measure(int runs, const Body& body) {
  body();
  return time_runs(runs, 0.2, body);
}

// Says on the standard error what is measured next.
inline void say(const std::string& what) { std::fprintf(stderr, "%s\n", what.c_str()); }

struct SuiteOptions {
  // Runs of an operation, warm passes of a model.
  int repetitions = 7;
  // Runs of bootstraps and of making their keys; of a model, bootstraps after each pass.
  int bootstrap_repetitions = 3;
};

// `ckks`: the operations of the scheme and its bootstrap, a row for each. The context must be able to bootstrap. With
// the threads and the backend in use.
//
// Times are by the clock: medians and minima of at least SuiteOptions::repetitions runs after one that is not
// counted, and of more where a run is short. A row that is named like an operation of Evaluator times that
// call alone: multiply_relinearise and multiply_plain do not rescale. The two NTT rows take one limb with one
// thread. Limbs of bootstraps are those of their results.
Figures ckks_suite(const ckks::Context& context, const SuiteOptions& options);

// What a run needs at its peak, the bootstrap with its keys; predicted.
size_t ckks_suite_bytes(const ckks::Context& context);

// `device`: the cost of a transform, a rotation, a product and a bootstrap on a device. An operation's launches, bytes
// and products, and the predictions from them, always come from a device that computes nothing
// (ckks/device/emulated_device.h). Times, and the comparison of bits with the processor's, come from a real device. On
// the emulated one the times are not a GPU's.
struct DeviceTimes {
  Figures operations;         // counts, predictions by an H200's data sheet, times and bits
  ckks::LaunchLog bootstrap;  // counted, or of a device that timed its launches
};

// The context must be able to bootstrap. Without a device nothing is measured. Constants are on the device
// before the timing begins. A time ends when the first word of the result is at the host.
DeviceTimes device_suite(const ckks::Context& context, ckks::Device* device, const SuiteOptions& options);

// Launches, bytes and products by program.
Figures log_figures(const std::string& title, const ckks::LaunchLog& log);

// `model`: passes of a whole model on real keys and ciphertexts, timed as a whole and in parts, and their answers
// compared with the twin's.
//
// Warm passes are each followed by bootstraps of one complex value alone, so that both are timed under the same load.
// Seconds of a pass are those of all its instructions. A pass is also given in bootstraps, because that ratio
// does not depend on the machine's load and clock. On a device a pass ends with its outputs at the host. One
// more pass, which waits for each instruction, gives the parts.
//
// The seconds of the median warm pass are given by operation: bootstrap, encode, rotate, plaintext_products,
// ciphertext_products (with relinearisation and rescaling), polynomials (Chebyshev series), other. They add up to the
// pass. Those of a linear map are split into plaintext products and rotations in the proportion that the cost model
// predicts. Predictions are the plan's.
struct ModelTimes {
  // For people: what is measured next to what was predicted; the parts of a pass; a device's launches by block program,
  // in a pass that waits; and how close the logits are to the twin's.
  std::string text = {};
  Figures run{};           // of RunFigures
  program::Ledger ledger;  // of the median warm pass, with ranges and errors
  Json json = {};          // all figures
};

// `name` is the model's. `prompts`: one at least, and at most as many as share ciphertexts. A null device is the
// processor. Throws Error, before any key is made, if memory does not suffice, or if the prompts leave the interval of a
// polynomial. A device keeps as many encoded weights as it has room for. The deployment must outlive the result.
ModelTimes model_suite(Deployment& deployment, const std::string& name,
                       const std::vector<std::vector<int>>& prompts, ckks::Device* device,
                       const SuiteOptions& options);

}  // namespace psm::cmd
