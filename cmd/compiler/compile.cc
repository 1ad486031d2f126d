#include "cmd/compiler/compile.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/prompts/logits.h"
#include "cmd/prompts/prompts.h"
#include "cmd/server/nominal_costs.h"

namespace psm::cmd {
namespace {

Json about(const PackedModel& model) {
  const attention::ModelConfig& config = model.model.weights.config;
  Json json;
  json["layers"] = config.layers;
  json["width"] = config.width;
  json["heads"] = config.heads;
  json["ffn"] = config.ffn;
  json["tokens"] = model.packing.tokens;
  json["prompts"] = model.packing.prompts;
  return json;
}

// What running an entry point takes, by nominal costs: seconds follow from the limbs of each kernel.
Json costs_of(const program::MeterReading& reading) {
  Json json;
  json["run_bytes"] = reading.run_bytes();
  json["key_bytes"] = reading.key_bytes();
  for (size_t kind = 0; kind < program::kWorkKindCount; ++kind)
    json["limbs"][program::name(static_cast<program::WorkKind>(kind))] = reading.work.limbs[kind];
  return json;
}

Json list_of(const std::vector<double>& values) {
  Json list = Json::Array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json(0));
  return list;
}

// The program in the clear: the error of every value, what every range check saw, and of a logit the root mean square
// of what the errors change.
struct Prediction {
  std::vector<double> errors, ranges;
  double logit_error = 0;
};

Prediction predict(const program::Plan& plan, const ckks::Context& context,
                   const attention::ClientModel& client, const std::vector<std::vector<int>>& prompts) {
  const PromptExamples examples(client.config, prompts);
  const attention::SlotVectors inputs = attention::client_inputs(client, examples);
  program::TwinOptions options;
  options.on_range = program::TwinOptions::OnRange::kCount;
  const program::TwinResult clear = program::run_twin(plan.program, inputs, options);
  const double bootstrap = plan.bootstraps > 0 ? ckks::predict_error(ckks::BootstrapPlan(context)).rms() : 0;
  const ckks::NoiseModel noise(context);
  options.noise_std = program::predicted_noise(plan, noise, bootstrap, clear.observations);
  Prediction found;
  found.errors = program::accumulated_noise(plan, noise, options.noise_std, clear.observations);
  for (const program::RangeCheck& check : plan.program.checks) {
    const program::Observation& seen = clear.observations[static_cast<size_t>(check.value.id)];
    found.ranges.insert(found.ranges.end(), {seen.min_re, seen.max_re});
  }
  LogitRows rows, noisy;
  append_logits(client, clear.outputs, examples, rows);
  append_logits(client, program::run_twin(plan.program, inputs, options).outputs, examples, noisy);
  const double error = rms_difference(noisy, rows);
  if (std::isfinite(error)) found.logit_error = error;
  return found;
}

}  // namespace

std::vector<std::vector<int>> sample_prompts(const attention::ModelConfig& config, const Notes& notes,
                                             int count) {
  if (notes.contains("recall")) return PromptCodec(config, notes).sample(count, 1);
  TrainingRandom random(1);
  const int most = config.patch_inputs > 0 ? 256 : config.vocab;
  std::vector<std::vector<int>> prompts(static_cast<size_t>(count));
  for (std::vector<int>& prompt : prompts) {
    prompt.resize(static_cast<size_t>(longest_prompt(config)));
    for (int& token : prompt) token = static_cast<int>(random.integer(static_cast<uint64_t>(most)));
  }
  return prompts;
}

Compiled compile_pass(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                      const std::string& path) {
  program::ProgramWriter writer(path + ".program");
  std::unique_ptr<const ckks::BootstrapPlan> bootstrap;
  if (context.can_bootstrap()) bootstrap = std::make_unique<const ckks::BootstrapPlan>(context);
  const program::CostModel costs = nominal_costs(context, bootstrap.get());
  Compiled made;
  program::ProgramFile& program = made.program;
  program.spec = context.spec();
  program::EntryPoint& entry = program.entries.emplace_back();
  entry.name = kPass;
  entry.plan = program::plan(attention::build_program(model.model, model.packing, 0, &writer.keeper()),
                             program::budget_of(context), costs);
  entry.keys = program::key_request(entry.plan, bootstrap.get());

  ClientFile& client = made.client;
  client.spec = program.spec;
  client.keys = entry.keys;
  client.entries.push_back({entry.name, inputs_of(entry.plan), outputs_of(entry.plan)});
  client.model = attention::client_model_of(model.model, model.packing);
  for (const char* note : {"recall", "images", "tokenizer", "alphabet"})
    if (const auto found = notes.find(note); found != notes.end()) client.notes.insert(*found);

  Prediction prediction;
  try {
    prediction = predict(entry.plan, context, client.model,
                         sample_prompts(client.model.config, notes, client.model.packing.prompts));
  } catch (const Error&) {  // the sample leaves a polynomial's interval: there is nothing to predict from
  }
  client.logit_error = prediction.logit_error;
  program.about = about(model);
  program.about["costs"][kPass] = costs_of(program::meter(entry.plan, costs));
  if (!prediction.errors.empty()) {
    program.about["logit_error"][kPass] = prediction.logit_error;
    program.about["predicted_errors"][kPass] = list_of(prediction.errors);
    program.about["observed_ranges"][kPass] = list_of(prediction.ranges);
  }
  client.program = writer.finish(program);
  write_client_file(path + ".client", client);
  return made;
}

}  // namespace psm::cmd
