#include "cmd/timing/model_suite.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "ckks/base/error.h"
#include "cmd/deployment/client/session.h"
#include "cmd/deployment/twin_run.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/device_pass.h"

namespace psm::cmd {
namespace {

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

class Suite {
 public:
  Suite(const Deployment& deployment, const std::vector<std::vector<int>>& prompts,
        const ModelSuiteOptions& options)
      : d_(deployment), prompts_(prompts), options_(options), times_(deployment) {
    if (prompts.empty() || prompts.size() > static_cast<size_t>(d_.packing.prompts)) {
      throw Error(message(prompts.size(), " prompts do not share a pass; give 1 to ", d_.packing.prompts));
    }
    require_memory(d_.server_bytes());
    require_device_room(options.device, d_);
  }

  ModelTimes run() {
    starting("the twin, in the clear");
    const TwinRun twin = run_twin_on(d_, prompts_);
    times_.ledger.set_ranges(twin.observations);
    times_.ledger.set_predicted_errors(twin.own_error, twin.accumulated_error);
    starting("keys");
    session_.emplace(d_, times_.figures, options_.device);
    times_.keygen = session_->seconds().keygen;
    const Session::Ciphertexts inputs =
        session_->encrypt(attention::client_inputs(d_.model, d_.packing, prompts_));
    const ckks::Ciphertext complex_value = session_->value_to_bootstrap();

    std::vector<PassTimes> warm;
    program::RunResult last;
    for (int pass = 0; pass <= options_.repetitions; ++pass) {
      starting(pass == 0 ? "the first pass" : message("warm pass ", pass, " of ", options_.repetitions));
      last = {};  // its outputs make room
      const double start = seconds_now();
      last = session_->run(inputs);
      const double seconds = options_.device == nullptr ? sum(last.seconds) : seconds_now() - start;
      if (pass == 0) {
        times_.first = seconds;
        times_.first_encoding = sum(last.encode_seconds);
        continue;
      }
      times_.warm.push_back(seconds);
      warm.push_back({last.seconds, last.encode_seconds});
      for (int i = 0; i < options_.bootstrap_repetitions && d_.plan.bootstraps > 0; ++i) {
        const double begin = seconds_now();
        session_->server().bootstrap(complex_value);
        times_.bootstraps.push_back(seconds_now() - begin);
      }
    }
    const auto at = std::ranges::find(times_.warm, times_.warm_pass()) - times_.warm.begin();
    PassTimes pass = std::move(warm[static_cast<size_t>(at)]);
    if (options_.device != nullptr) {
      starting("a pass that waits for each instruction");
      last = {};
      program::RunOptions options;
      options.waits = true;
      last = session_->run(inputs, options);
      pass = {last.seconds, last.encode_seconds};
    }
    compare(last, twin);
    break_down(pass);
    return std::move(times_);
  }

 private:
  void starting(const std::string& what) const {
    if (options_.starting) options_.starting(what);
  }

  void compare(const program::RunResult& result, const TwinRun& twin) {
    const attention::SlotVectors outputs = session_->decrypt(result.outputs);
    LogitRows rows;
    append_logits(attention::client_model_of(d_.model, d_.packing), outputs, prompts_, rows);
    times_.versus_twin = compare_logits(twin.logits, rows, twin.predicted_std);
    for (const auto& output : d_.plan.program.outputs)
      times_.ledger.set_measured(output.value, outputs.at(output.name), twin.outputs.at(output.name));
  }

  void break_down(const PassTimes& pass) {
    starting("calibrating, for the plan's prediction");
    RunFigures& figures = times_.figures;
    figures.predict_seconds();
    const std::vector<double>& predicted = figures.predicted_instructions();
    times_.ledger.set_seconds(pass.seconds);
    times_.ledger.set_predicted_seconds(predicted);
    times_.computations = by_computation(d_.plan, pass, predicted);
    times_.operations =
        by_operation(d_.plan, pass, figures.costs(), predicted, figures.predicted_warm() - sum(predicted));
  }

  const Deployment& d_;
  const std::vector<std::vector<int>>& prompts_;
  const ModelSuiteOptions& options_;
  ModelTimes times_;
  std::optional<Session> session_;
};

}  // namespace

ModelTimes::ModelTimes(const Deployment& deployment)
    : figures(deployment), ledger(deployment.plan, deployment.context->scales()) {}

double ModelTimes::warm_pass() const { return times_of(warm).median; }

std::optional<double> ModelTimes::bootstrap_full() const {
  if (bootstraps.empty()) return std::nullopt;
  return times_of(bootstraps).median;
}

ModelTimes model_suite(const Deployment& deployment, const std::vector<std::vector<int>>& prompts,
                       const ModelSuiteOptions& options) {
  PSM_CHECK(options.repetitions >= 1 && options.bootstrap_repetitions >= 1, options.repetitions);
  return Suite(deployment, prompts, options).run();
}

}  // namespace psm::cmd
