#include "cmd/deployment/twin_run.h"

#include "ckks/base/error.h"
#include "ckks/program/errors/noise.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

TwinRun run_twin_on(const Deployment& deployment, const std::vector<std::vector<int>>& prompts) {
  TwinRun run;
  run.prompts = prompts;
  const attention::ModelConfig& config = deployment.model.weights.config;
  const attention::ClientModel client = attention::client_model_of(deployment.model, deployment.packing);
  const ckks::NoiseModel noise(*deployment.context);
  LogitRows noisy;
  for (const auto& group : groups_of(prompts, deployment.packing.prompts)) {
    const attention::SlotVectors inputs = attention::client_inputs(client, PromptExamples(config, group));
    if (!noisy.empty()) {  // one group tells the deviation
      append_logits(client, program::run_twin(deployment.plan.program, inputs).outputs, group, run.logits);
      continue;
    }
    program::TwinOptions options{.bootstrap_error = deployment.bootstrap_errors.follows};
    const program::TwinsResult clear = program::run_twins(deployment.plan.program, inputs, options);
    append_logits(client, clear.outputs, group, run.logits);
    options.on_range = program::TwinOptions::OnRange::kCount;
    run.own_error = program::predicted_noise(deployment.plan, noise, deployment.bootstrap_errors.rounding,
                                             clear.observations);
    run.accumulated_error =
        program::accumulated_noise(deployment.plan, noise, run.own_error, clear.apart, clear.observations);
    run.observations = clear.observations;
    run.outputs = clear.outputs;
    options.noise_std = run.own_error;
    append_logits(client, program::run_twin(deployment.plan.program, inputs, options).outputs, group, noisy);
  }
  run.predicted_std = rms_difference(noisy, run.logits);
  return run;
}

}  // namespace psm::cmd
