#include "cmd/compiler/compile.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "attention/encrypted/decode.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/errors/noise.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/errors/noise.h"
#include "cmd/generation/text_ends.h"
#include "cmd/server/planned_pass.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

// The plans of a program that continues texts (cmd/generation/text_ends.h). The pass over the prompt makes
// the caches of keys and values (attention/encrypted/encrypted_model.h). One further token reads them and
// passes them on (attention/encrypted/decode.h). The length of the prompt and the position of the token are
// arguments: neither levels nor bootstraps depend on them.

// A cache has the same level from run to run, one that the prompt's pass can reach. It is the lowest level at which a
// token costs at most so much more than at the best one, by nominal costs.
constexpr double kWorthLessMemory = 1.03;

// Which bootstraps the planner may place (ckks/bootstrap/bootstrapper.h): full ones; sparse ones, one for both programs
// if it can hold all that they refresh (a small model in a large ring), else one of F slots, which holds all of the
// token's but what GELU reads and makes, and one for that too if it is few values; and of blocks for the token's
// denominators.
std::set<ckks::BootstrapKind> offered(const ckks::Context& context, const attention::Packing& packing,
                                      const std::optional<program::Program>& prompt,
                                      const program::Program& token) {
  const size_t most = static_cast<size_t>(context.slots()) / 2, F = static_cast<size_t>(packing.features);
  const size_t of_token = program::longest_refreshed(token),
               of_both = prompt ? std::max(of_token, program::longest_refreshed(*prompt)) : of_token;
  const size_t period = of_both <= most ? of_both : of_token;
  std::set<ckks::BootstrapKind> kinds = program::refreshed_blocks(token);
  kinds.insert(ckks::BootstrapKind{});
  if (period > 0) kinds.insert({period});
  if (of_both > most) kinds.insert({F});
  return kinds;
}

// An entry point whose argument, if it has one, takes the values from `first` on.
program::EntryPoint entry_of(const char* name, program::Plan plan, const char* argument = "", int first = 0) {
  program::EntryPoint entry;
  entry.name = name, entry.argument = argument, entry.first = first;
  entry.plan = std::move(plan);
  return entry;
}

program::Constants kept(program::Constants constants, program::PlainKeeper& keeper) {
  for (program::Exchange& one : constants)
    if (one.plain.period() != 0) one.plain = keeper.keep(one.plain);
  return constants;
}

// The plans of one token, one for every level of the caches that has a plan: first the plan to take, then the
// others from the cheapest on. `caches` are the caches' names. Throws Error if there is no plan.
std::vector<program::Plan> token_plans(const program::Program& program,
                                       const std::vector<std::string>& caches,
                                       const program::CostModel& costs) {
  std::vector<program::Plan> plans;
  std::string refused;
  for (ckks::Level level = 0; level <= costs.chain().compute_level; ++level) {
    program::CarriedLevels carried;
    for (const std::string& name : caches) carried[name] = level;
    try {
      plans.push_back(program::plan(program, costs, carried));
    } catch (const Error& error) {
      refused = error.what();  // too low for what reads it; a higher one may do
    }
  }
  if (plans.empty()) throw Error(refused);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const program::Plan& a, const program::Plan& b) { return a.seconds < b.seconds; });
  // Caches are kept for as long as the text: a lower level is worth a little time.
  const auto dear = std::partition_point(plans.begin(), plans.end(), [&](const program::Plan& plan) {
    return plan.seconds <= kWorthLessMemory * plans.front().seconds;
  });
  const auto level = [](const program::Plan& plan) { return plan.carried.begin()->second; };
  const auto smallest =
      std::min_element(plans.begin(), dear,
                       [&](const program::Plan& a, const program::Plan& b) { return level(a) < level(b); });
  std::rotate(plans.begin(), smallest, smallest + 1);
  return plans;
}

// The entry points, the prompt's first. `prompt` has as many tokens as the packing has places; without it
// prompts come token by token. Constants by position go to the keeper at once.
std::vector<program::EntryPoint> plan_text(const ckks::Context& context, const attention::ModelConfig& config,
                                           const attention::Packing& packing,
                                           const std::optional<program::Program>& prompt,
                                           const attention::DecodeProgram& token,
                                           program::PlainKeeper& keeper) {
  const ckks::BootstrapPlans bootstraps =
      ckks::plan_bootstraps(context, offered(context, packing, prompt, token.program));
  const program::CostModel costs = program::costs_of(context, bootstraps);
  std::vector<program::EntryPoint> entries;
  std::string refused;
  for (program::Plan& plan :
       token_plans(token.program, attention::cache_names(packing, config.layers), costs)) {
    try {
      if (prompt)
        entries.push_back(entry_of(kPrompt, program::plan(*prompt, costs, plan.carried), "tokens", 1));
      entries.push_back(entry_of(kToken, std::move(plan), "position", 0));
      break;
    } catch (const Error& error) {
      refused = error.what();  // too high for what the prompt's pass hands out
    }
  }
  if (entries.empty()) throw Error(refused);
  program::EntryPoint& last = entries.back();
  for (int place = 0; place < config.context; ++place) {
    last.by_argument.push_back(kept(token.constants.at(place), keeper));
    if (prompt)
      entries[0].by_argument.push_back(kept(
          attention::prompt_constants(entries[0].plan.program, packing, config.layers, place + 1), keeper));
  }
  const std::vector<program::Instruction>& instructions = last.plan.program.instructions;
  std::map<int, size_t> by_result;
  for (size_t i = 0; i < instructions.size(); ++i) by_result.emplace(instructions[i].results.at(0).id, i);
  for (const program::Constants& constants : last.by_argument)
    for (const program::Exchange& constant : constants) {
      if (constant.offsets.empty()) continue;  // only rotations ask for keys of their own
      const size_t place = by_result.at(constant.result.id);
      program::Instruction rotation = instructions[place];
      rotation.offsets = constant.offsets;
      program::request_keys(rotation, context.chain(), last.plan.argument_level[place], last.plan.keys);
    }
  for (program::EntryPoint& entry : entries) entry.keys = program::key_request(entry.plan, bootstraps);
  return entries;
}

Json about(const attention::ModelConfig& config, const attention::Packing& packing) {
  return Json::Object{{"layers", config.layers}, {"width", config.width},    {"heads", config.heads},
                      {"ffn", config.ffn},       {"tokens", packing.tokens}, {"prompts", packing.prompts}};
}

// Plans the entry points of a model or of a shape. `keeper` takes the weights, null of a shape's; `constants` those of
// each argument. Weights that are inputs are named so, and appended to `weights`.
std::vector<program::EntryPoint> plan_entries(const attention::PolynomialModel& model,
                                              const attention::Packing& packing, program::PlainKeeper* keeper,
                                              program::PlainKeeper& constants, const ckks::Context& context,
                                              CompiledFor purpose, std::vector<nn::WeightInput>& weights) {
  std::vector<program::EntryPoint> entries;
  if (purpose == CompiledFor::kPass) {
    const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, {{}});
    entries.push_back(entry_of(kPass, program::plan(attention::build_program(model, packing, 0, keeper),
                                                    program::costs_of(context, bootstraps))));
    entries[0].keys = program::key_request(entries[0].plan, bootstraps);
    return entries;
  }
  const bool secret_weights = purpose == CompiledFor::kEncryptedWeights;
  std::optional<program::Program> prompt;
  if (!secret_weights) prompt = attention::build_program(model, packing, packing.tokens, keeper);
  attention::DecodeProgram token = attention::build_decode_program(model, packing, secret_weights, keeper);
  for (nn::WeightInput& weight : token.weights) {
    const std::string name = kWeightPrefix + weight.name;
    for (program::NamedValue& input : token.program.inputs)
      if (input.name == weight.name) input.name = name;
    weights.push_back({name, std::move(weight.weight)});
  }
  return plan_text(context, model.weights.config, packing, prompt, token, constants);
}

// What running an entry point takes, by nominal costs: seconds follow from the limbs of each kernel.
Json costs_of(const ckks::Context& context, const program::EntryPoint& entry) {
  const program::MeterReading reading = program::meter(
      entry.plan,
      program::costs_of(context, ckks::plan_bootstraps(context, program::bootstrap_kinds(entry.plan))));
  Json json;
  json["run_bytes"] = reading.run_bytes();
  json["key_bytes"] = reading.key_bytes;
  for (size_t kind = 0; kind < program::kWorkKindCount; ++kind)
    json["limbs"][program::name(static_cast<program::WorkKind>(kind))] = reading.work.limbs[kind];
  return json;
}

Json list_of(const std::vector<double>& values) {
  Json list = Json::Array();
  for (const double value : values) list.push_back(std::isfinite(value) ? Json(value) : Json(0));
  return list;
}

attention::PolynomialModel polynomial_model_of(attention::Checkpoint checkpoint) {
  if (!checkpoint.ranges || !checkpoint.polynomial) {
    throw Error("the checkpoint has no polynomial form yet; make one with bazel run //cmd:polynomialise");
  }
  if (checkpoint.weights.config.attention != attention::AttentionKind::kPowerSoftmax) {
    throw Error(
        message("attention ", attention::name_of(checkpoint.weights.config.attention),
                " is polynomial in the clear only; take a power_softmax model for encrypted inference"));
  }
  attention::PolynomialModel model =
      attention::make_polynomial(std::move(checkpoint.weights), *checkpoint.ranges, *checkpoint.polynomial);
  model.read_layer = std::move(checkpoint.read_layer);
  return model;
}

// Inputs for a prediction: from the task for a recall model, drawn at random for others.
std::vector<std::vector<int>> sample_prompts(const attention::ModelConfig& config, const Notes& notes,
                                             int count) {
  if (notes.contains(kPromptsNote))
    if (const PromptCodec codec = codec_of(config, notes); codec.is_recall()) return codec.sample(count, 1);
  TrainingRandom random(1);
  const int most = config.patch_inputs > 0 ? 256 : config.vocab;
  std::vector<std::vector<int>> prompts(static_cast<size_t>(count));
  for (std::vector<int>& prompt : prompts) {
    prompt.resize(static_cast<size_t>(longest_prompt(config)));
    for (int& token : prompt) token = static_cast<int>(random.integer(static_cast<uint64_t>(most)));
  }
  return prompts;
}

// Predicts every entry point (kToken's token follows the prompt) for the program's and the client's notes.
void predict_all(const ckks::Context& context, const PackedModel& model, const Notes& notes, Compiled& made) {
  ClientFile& client = made.client;
  std::vector<std::vector<int>> prompts =
      sample_prompts(model.model.weights.config, notes, client.model.packing.prompts);
  attention::SlotVectors caches;
  for (const program::EntryPoint& entry : made.program.entries) {
    int argument = 0, first = 0;
    if (entry.name == kPrompt) {
      prompts[0].resize((prompts[0].size() + 1) / 2);
      argument = static_cast<int>(prompts[0].size());
    } else if (entry.name == kToken) {
      argument = first = static_cast<int>(prompts[0].size());
      prompts = {{prompts[0].back()}};
    }
    const PromptExamples examples(client.model.shape, prompts);
    attention::SlotVectors inputs = attention::client_inputs(client.model, examples, first);
    for (const auto& [name, value] : entry.plan.program.inputs)
      if (const auto cache = caches.find(name); cache != caches.end()) inputs.insert(caches.extract(cache));
    const program::Program program = program::with_constants(
        entry.plan.program, entry.argument.empty() ? program::Constants{} : entry.constants(argument));
    TwinPrediction found = predict(entry.plan, program, context, client.model, examples, inputs,
                                   program::TwinOptions::OnRange::kCount);
    std::vector<double> ranges;
    for (const program::RangeCheck& check : entry.plan.program.checks) {
      const program::Observation& seen = found.observations[static_cast<size_t>(check.value.id)];
      ranges.insert(ranges.end(), {seen.min_re, seen.max_re});
    }
    const double logit_error = std::isfinite(found.predicted_std) ? found.predicted_std : 0;
    client.logit_error = std::max(client.logit_error, logit_error);
    made.program.about["logit_error"][entry.name] = logit_error;
    made.program.about["predicted_errors"][entry.name] = list_of(found.accumulated_error);
    made.program.about["observed_ranges"][entry.name] = list_of(ranges);
    caches = std::move(found.outputs);
  }
}

// A shape reads numbers, as it says nothing of prompts.
void describe_prompts(const attention::ModelWeights& weights, const Notes& notes, ClientFile& client) {
  const attention::ModelConfig& config = weights.config;
  const PromptCodec codec =
      notes.contains(kPromptsNote) ? codec_of(config, notes) : PromptCodec(config.vocab, config.classes);
  client.prompts = prompt_form(codec);
  client.answers = codec.answers();
  client.answers.embedding = attention::embeds_sentences(weights);
  const size_t wanted = config.classes > 0 ? 0 : static_cast<size_t>(config.vocab);
  client.answers.symbols.resize(wanted), client.answers.short_symbols.resize(wanted);
}

}  // namespace

PackedModel::PackedModel(attention::Checkpoint checkpoint, const ckks::Context& context, int prompts)
    : model(polynomial_model_of(std::move(checkpoint))),
      packing(attention::make_packing(model.weights.config, model.weights.config.context,
                                      static_cast<size_t>(context.slots()), prompts)) {}

Compiled compile_model(const PackedModel& model, const Notes& notes, const ckks::Context& context,
                       CompiledFor purpose, const std::string& path, bool predicts) {
  program::ProgramWriter writer(path + ".program");
  Compiled made;
  program::ProgramFile& program = made.program;
  ClientFile& client = made.client;
  program.spec = client.spec = context.spec();
  program::PlainKeeper& keeper = writer.keeper();
  std::vector<nn::WeightInput> weights;
  program.entries = plan_entries(model.model, model.packing, &keeper, keeper, context, purpose, weights);
  client.model = attention::client_model_of(model.model, model.packing);  // no layer is in memory any more
  for (const nn::WeightInput& weight : weights)
    client.weights.push_back({weight.name, weight.weight.to_vector()});
  // A full bootstrap's; one of few values overflows less often.
  const double overflow =
      context.can_bootstrap() ? std::exp2(ckks::BootstrapPlan(context).log2_rare_multiple()) : 0;
  for (const program::EntryPoint& entry : program.entries) {
    client.keys.merge(entry.keys);
    PlanEnds ends = ends_of(entry.plan);
    client.entries.push_back(
        {entry.name, std::move(ends.inputs), std::move(ends.outputs), entry.plan.bootstraps * overflow});
  }
  describe_prompts(model.model.weights, notes, client);

  program.about = about(model.model.weights.config, model.packing);
  for (const program::EntryPoint& entry : program.entries)
    program.about["costs"][entry.name] = costs_of(context, entry);
  // What errors and ranges are tells of the weights.
  if (predicts && weights.empty()) {
    try {
      predict_all(context, model, notes, made);
    } catch (const Error& error) {  // such as a value that is not finite: there is nothing to predict from
      made.unpredicted = error.what();
    }
  }
  client.program = writer.finish(program);
  write_client_file(path + ".client", client);
  return made;
}

TwinPrediction predict(const program::Plan& plan, const program::Program& program,
                       const ckks::Context& context, const attention::ClientModel& client,
                       const attention::Examples& examples, const attention::SlotVectors& inputs,
                       program::TwinOptions::OnRange on_range) {
  const program::BootstrapErrors bootstrap = program::bootstrap_errors(plan, context);
  const ckks::NoiseModel noise(context);
  program::TwinOptions options{.on_range = on_range, .bootstrap_error = bootstrap.follows};
  program::TwinsResult clear = program::run_twins(program, inputs, options);
  TwinPrediction found;
  program::PredictedNoise errors =
      program::predicted_noise(plan, noise, bootstrap.rounding, clear.observations, clear.apart);
  found.own_error = std::move(errors.own), found.accumulated_error = std::move(errors.accumulated);
  options.on_range = program::TwinOptions::OnRange::kCount;
  options.noise_std = found.own_error;
  LogitRows noisy;
  append_logits(client, clear.outputs, examples, found.logits);
  append_logits(client, program::run_twin(program, inputs, options).outputs, examples, noisy);
  found.predicted_std = rms_difference(noisy, found.logits);
  found.observations = std::move(clear.observations);
  found.outputs = std::move(clear.outputs);
  return found;
}

void require_disk(const attention::ModelConfig& config, const std::string& path) {
  double weights = 0;
  const attention::LayerWeights layer;
  attention::for_each_layer_parameter(
      config, "", layer,
      [&](const auto&, const auto&, int rows, int columns) { weights += 1.0 * rows * columns; });
  const double bytes = 4 * weights * config.layers;
  std::error_code unknown;  // of a folder that is not there, which opening the file refuses
  const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), unknown);
  if (!unknown && static_cast<double>(space.available) < bytes)
    throw Error(message(path, ".program takes at least ", bytes_text(bytes), ", its disk has room for ",
                        bytes_text(static_cast<double>(space.available)),
                        "; make room or give another folder"));
}

program::ProgramFile plan_shape(const attention::ModelConfig& config, const attention::Packing& packing,
                                const attention::PolynomialOptions& options, const ckks::Context& context,
                                CompiledFor purpose) {
  struct Shapes : program::PlainKeeper {
    ckks::Plain keep(const ckks::Plain& plain) override {
      return plain.period() == 1 ? plain
                                 : ckks::Plain::shape_only(plain.period(), plain.real(), plain.entries());
    }
  } shapes;
  std::vector<nn::WeightInput> weights;
  program::ProgramFile program;
  program.spec = context.spec();
  program.about = about(config, packing);
  program.entries = plan_entries(attention::shape_model(config, {}, options), packing, nullptr, shapes,
                                 context, purpose, weights);
  return program;
}

}  // namespace psm::cmd
