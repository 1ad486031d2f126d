#include "cmd/deployment/twin_run.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/program/errors/noise.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

void append_logits(const PackedModel& packed, const attention::SlotVectors& outputs,
                   const attention::Examples& examples, LogitRows& rows) {
  const int count = packed.model.weights.config.logit_count();
  for (const auto& logits : attention::client_logits(packed.model, packed.packing, outputs, examples)) {
    PSM_CHECK(logits.size() % static_cast<size_t>(count) == 0, logits.size(), " ", count);
    for (auto at = logits.begin(); at != logits.end(); at += count) rows.emplace_back(at, at + count);
  }
}

LogitRows scored_rows(const PromptCodec& codec, const std::vector<std::vector<int>>& prompts,
                      const LogitRows& rows) {
  LogitRows scored;
  size_t begin = 0;
  for (const auto& prompt : prompts) {
    for (const int t : codec.scored_positions(static_cast<int>(prompt.size()))) {
      scored.push_back(rows.at(begin + static_cast<size_t>(t)));
    }
    begin += static_cast<size_t>(codec.rows(static_cast<int>(prompt.size())));
  }
  return scored;
}

TwinRun run_twin_on(const Deployment& deployment, const std::vector<std::vector<int>>& prompts) {
  TwinRun run;
  run.prompts = prompts;
  const attention::ModelConfig& config = deployment.model.weights.config;
  const ckks::NoiseModel noise(*deployment.context);
  LogitRows noisy;
  for (const auto& group : groups_of(prompts, deployment.packing.prompts)) {
    const attention::SlotVectors inputs =
        attention::client_inputs(deployment.model, deployment.packing, PromptExamples(config, group));
    const program::TwinResult clear = program::run_twin(deployment.plan.program, inputs);
    append_logits(deployment, clear.outputs, group, run.logits);
    if (!noisy.empty()) continue;  // one group tells the deviation
    program::TwinOptions options;
    options.on_range = program::TwinOptions::OnRange::kCount;
    run.own_error =
        program::predicted_noise(deployment.plan, noise, deployment.bootstrap_error_std, clear.observations);
    run.accumulated_error =
        program::accumulated_noise(deployment.plan, noise, run.own_error, clear.observations);
    run.observations = clear.observations;
    run.outputs = clear.outputs;
    options.noise_std = run.own_error;
    append_logits(deployment, program::run_twin(deployment.plan.program, inputs, options).outputs, group,
                  noisy);
  }
  double squares = 0;
  size_t count = 0;
  for (size_t row = 0; row < noisy.size(); ++row) {
    for (size_t i = 0; i < noisy[row].size(); ++i, ++count) {
      squares += (noisy[row][i] - run.logits[row][i]) * (noisy[row][i] - run.logits[row][i]);
    }
  }
  run.predicted_std = count > 0 ? std::sqrt(squares / static_cast<double>(count)) : 0;
  return run;
}

}  // namespace psm::cmd
