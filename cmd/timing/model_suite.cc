#include "cmd/timing/model_suite.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ckks/base/error.h"
#include "cmd/deployment/client/session.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/protocol/required_memory.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device_pass.h"

namespace psm::cmd {
namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

}  // namespace

ModelTimes::ModelTimes(const Deployment& deployment)
    : figures(deployment), ledger(deployment.plan, deployment.context->scales()) {}

double ModelTimes::warm_pass() const { return times_of(warm).median; }

std::optional<double> ModelTimes::bootstrap_full() const {
  if (bootstraps.empty()) return std::nullopt;
  return times_of(bootstraps).median;
}

ModelTimes model_suite(const Deployment& d, const std::vector<std::vector<int>>& prompts,
                       const ModelSuiteOptions& options) {
  PSM_CHECK(options.repetitions >= 1 && options.bootstrap_repetitions >= 1, options.repetitions);
  if (prompts.empty() || prompts.size() > static_cast<size_t>(d.packing.prompts))
    throw Error(message(prompts.size(), " prompts do not share a pass; give 1 to ", d.packing.prompts));
  ModelTimes times(d);
  require_memory(d.server_bytes());
  require_device_room(options.device, d);
  const auto starting = [&](const std::string& what) {
    if (options.starting) options.starting(what);
  };

  starting("the twin, in the clear");
  const TwinRun twin = run_twin_on(d, prompts);
  times.ledger.set_ranges(twin.observations);
  times.ledger.set_predicted_errors(twin.own_error, twin.accumulated_error);
  starting("keys");
  Session session(d, times.figures, options.device);
  times.keygen = session.seconds().keygen;
  const Session::Ciphertexts inputs = session.encrypt(attention::client_inputs(d.model, d.packing, prompts));
  const ckks::Ciphertext complex_value = session.value_to_bootstrap();

  std::vector<PassTimes> warm;
  program::RunResult last;
  for (int pass = 0; pass <= options.repetitions; ++pass) {
    starting(pass == 0 ? "the first pass" : message("warm pass ", pass, " of ", options.repetitions));
    last = {};  // its outputs make room
    const double start = seconds_now();
    last = session.run(inputs);
    const double seconds = options.device == nullptr ? sum(last.seconds) : seconds_now() - start;
    if (pass == 0) {
      times.first = seconds;
      times.first_encoding = sum(last.encode_seconds);
      continue;
    }
    times.warm.push_back(seconds);
    warm.push_back({last.seconds, last.encode_seconds});
    for (int i = 0; i < options.bootstrap_repetitions && d.plan.bootstraps > 0; ++i) {
      const double begin = seconds_now();
      session.server().bootstrap(complex_value);
      times.bootstraps.push_back(seconds_now() - begin);
    }
  }
  const auto at = std::ranges::find(times.warm, times.warm_pass()) - times.warm.begin();
  PassTimes pass = std::move(warm[static_cast<size_t>(at)]);
  if (options.device != nullptr) {
    starting("a pass that waits for each instruction");
    last = {};
    program::RunOptions waiting;
    waiting.waits = true;
    last = session.run(inputs, waiting);
    pass = {last.seconds, last.encode_seconds};
  }

  const attention::SlotVectors outputs = session.decrypt(last.outputs);
  LogitRows rows;
  append_logits(attention::client_model_of(d.model, d.packing), outputs, prompts, rows);
  times.versus_twin = compare_logits(twin.logits, rows, twin.predicted_std);
  for (const auto& output : d.plan.program.outputs)
    times.ledger.set_measured(output.value, outputs.at(output.name), twin.outputs.at(output.name));

  starting("calibrating, for the plan's prediction");
  RunFigures& figures = times.figures;
  figures.predict_seconds();
  const std::vector<double>& predicted = figures.predicted_instructions();
  times.ledger.set_seconds(pass.seconds);
  times.ledger.set_predicted_seconds(predicted);
  times.computations = by_computation(d.plan, pass, predicted);
  times.operations =
      by_operation(d.plan, pass, figures.costs(), predicted, figures.predicted_warm() - sum(predicted));
  return times;
}

}  // namespace psm::cmd
