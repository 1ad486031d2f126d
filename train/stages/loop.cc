#include "train/stages/loop.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <optional>
#include <utility>

#include "attention/files/checkpoint.h"
#include "attention/shape/model_json.h"
#include "ckks/base/clock.h"
#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/json.h"
#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"

namespace psm::train {
namespace {

uint64_t number_at(const nn::Safetensors& file, const std::string& key, const std::string& path) {
  const auto found = file.metadata.find(key);
  const std::string text = found == file.metadata.end() ? "" : found->second;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw Error(message(path, ": ", key,
                        " is not a number; the file is not a saved training, delete it to begin anew"));
  return number;
}

}  // namespace

void save_training(const std::string& path, const std::string& description, TrainerState state) {
  const auto count = static_cast<int64_t>(state.values.size());
  nn::Safetensors file{.metadata = {{"training", description},
                                    {"steps", std::to_string(state.optimiser.steps)},
                                    {"random", std::to_string(state.random)},
                                    {"tokens", std::to_string(state.tokens)}},
                       .tensors = {}};
  // Moved one by one: a braced list would copy arrays as large as the model.
  file.tensors.push_back({"values", {count}, std::move(state.values)});
  file.tensors.push_back({"first_moment", {count}, std::move(state.optimiser.m)});
  file.tensors.push_back({"second_moment", {count}, std::move(state.optimiser.v)});
  nn::write_safetensors(path, file);
}

TrainerState training_from(nn::Safetensors file, const std::string& description, const std::string& path) {
  if (file.metadata["training"] != description)
    throw Error(
        message(path, " is a saved training of another model, data set or options; delete it to begin anew"));
  if (file.tensors.empty() || file.tensors[0].shape.size() != 1)
    throw Error(message(path, " is not a saved training; delete it to begin anew"));
  const std::vector<int64_t> shape = file.tensors[0].shape;
  TrainerState state;
  state.values = file.take("values", shape, path);
  state.optimiser.m = file.take("first_moment", shape, path);
  state.optimiser.v = file.take("second_moment", shape, path);
  for (const std::vector<float>* values : {&state.values, &state.optimiser.m, &state.optimiser.v})
    if (!std::all_of(values->begin(), values->end(), [](float x) { return std::isfinite(x); }))
      throw Error(message(path, " holds a value that is not finite; delete it to begin anew"));
  state.optimiser.steps = number_at(file, "steps", path);
  state.random = number_at(file, "random", path);
  state.tokens = number_at(file, "tokens", path);
  return state;
}

std::string describe_training(const attention::ModelWeights& initial, const DataSource& source,
                              const TrainerOptions& training, const LoopOptions& loop) {
  const std::vector<float> values = attention::flatten(initial);
  Json json;
  json["name"] = loop.name;
  json["model"] = attention::config_to_json(initial.config);
  json["initial"] = std::to_string(checksum64(values.data(), values.size() * sizeof(float)));
  json["data"] = source.description();
  json["batch"] = training.batch;
  json["seed"] = std::to_string(training.seed);
  json["rate"] = Json::Array{training.rate.peak, static_cast<double>(training.rate.warmup),
                             static_cast<double>(training.rate.total), training.rate.floor};
  json["adamw"] = Json::Array{training.adamw.beta1, training.adamw.beta2, training.adamw.epsilon,
                              training.adamw.decay, training.adamw.clip};
  // All of them, in the order of their declaration.
  const auto ranges =
      std::bit_cast<std::array<double, sizeof(RangeLosses) / sizeof(double)>>(training.ranges);
  json["ranges"] = Json::Array(ranges.begin(), ranges.end());
  if (training.precision != nn::Precision::kFp32) json["precision"] = nn::name_of(training.precision);
  if (training.fixed_score_offset) json["fixed_score_offset"] = true;
  json["stop"] = Json::Array{static_cast<double>(loop.steps), static_cast<double>(loop.evaluate_every),
                             static_cast<double>(loop.validation_sequences), loop.stop_accuracy};
  return json.dump(0);
}

LoopResult run_training(const attention::ModelWeights& initial, const DataSource& source,
                        const TrainerOptions& training, const LoopOptions& loop) {
  if (loop.evaluate_every == 0 || loop.save_every == 0 || loop.validation_sequences < 1)
    throw Error(
        "a training must be evaluated on at least one sequence and every so many steps; give positive "
        "numbers");
  const double start = seconds_now();
  Trainer trainer(initial, source, training);
  const std::string description = describe_training(initial, source, training, loop);
  const Batch validation = source.validation(loop.validation_sequences);
  LoopResult result;
  result.name = loop.name;
  size_t last_saved = 0;
  bool reached = false;  // the accuracy

  // What stops a training is reported with the state from which it can go on.
  const auto with_last_good_state = [&](const Error& error) {
    const std::string last = last_saved > 0
                                 ? message("last good state: step ", last_saved, " in ", loop.state_file)
                                 : std::string("no state was saved before");
    return message(loop.name, ": ", error.what(), "; ", last);
  };
  const auto or_last_good_state = [&](auto&& action) {
    try {
      return action();
    } catch (const Diverged& error) {
      throw Diverged(with_last_good_state(error));
    } catch (const Error& error) {
      throw Error(with_last_good_state(error), error.kind());
    }
  };
  const auto save = [&] {
    if (loop.state_file.empty()) return;
    or_last_good_state([&] { save_training(loop.state_file, description, trainer.state()); });
    last_saved = trainer.steps();
  };
  if (!loop.state_file.empty() && std::filesystem::exists(loop.state_file)) {
    trainer.set_state(training_from(nn::read_safetensors(loop.state_file), description, loop.state_file));
    result.resumed_at = last_saved = trainer.steps();
    if (trainer.steps() % loop.evaluate_every == 0 || trainer.steps() >= loop.steps) {
      result.validation = evaluate(trainer.weights(), validation);
      reached = result.validation.accuracy() >= loop.stop_accuracy;
    }
  }

  std::optional<InterruptionWatch> watch;
  if (!loop.state_file.empty()) watch.emplace();
  if (loop.started) loop.started(loop.name, loop.steps, result.resumed_at);
  Progress progress(loop.name, static_cast<double>(loop.steps));
  double step_seconds = 0;
  const uint64_t read_before = trainer.tokens();  // by other processes
  while (!reached && trainer.steps() < loop.steps) {
    const double before = seconds_now();
    const StepReport report = or_last_good_state([&] { return trainer.step(); });
    step_seconds += seconds_now() - before;
    if (report.step % loop.evaluate_every == 0 || report.step == loop.steps) {
      result.validation = evaluate(trainer.weights(), validation);
      if (loop.evaluated) loop.evaluated(report.step, result.validation);
      progress.note(
          message("loss ", report.cross_entropy, ", held-out accuracy ", result.validation.accuracy()));
      reached = result.validation.accuracy() >= loop.stop_accuracy;
      if (reached) break;
    }
    progress.set(static_cast<double>(report.step));
    const bool stopping = watch && interrupted();
    if ((report.step % loop.save_every == 0 || stopping) && report.step < loop.steps) save();
    if (stopping && report.step < loop.steps)
      throw Interrupted(message(loop.name, " was saved after step ", report.step, " of at most ", loop.steps,
                                " in ", loop.state_file, "; run the same command again to go on from there"));
  }
  if (trainer.steps() == 0) result.validation = evaluate(trainer.weights(), validation);
  if (trainer.steps() != last_saved) save();
  result.weights = trainer.weights();
  result.steps = trainer.steps();
  result.tokens = trainer.tokens();
  result.seconds = seconds_now() - start;
  result.tokens_per_second =
      step_seconds > 0 ? static_cast<double>(result.tokens - read_before) / step_seconds : 0;
  return result;
}

}  // namespace psm::train
