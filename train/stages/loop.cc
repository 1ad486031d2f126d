#include "train/stages/loop.h"

#include <chrono>

#include "attention/files/checkpoint.h"
#include "attention/shape/config_json.h"
#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"
#include "ckks/base/files/json.h"
#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"
#include "train/stages/training_state.h"

namespace psm::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

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
  const RangeLosses& r = training.ranges;
  json["ranges"] = Json::Array{r.score_peak,
                               r.gelu_peak,
                               r.score_excess,
                               r.gelu_excess,
                               r.denominator_excess,
                               r.variance_width,
                               r.residual_excess,
                               r.final_variance_width,
                               r.final_residual_excess,
                               r.score_limit,
                               r.gelu_limit,
                               r.denominator_limit,
                               r.residual_limit,
                               r.final_residual_limit,
                               r.variance_half_width,
                               r.final_variance_half_width};
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
  const auto start = Clock::now();
  Trainer trainer(initial, source, training);
  const std::string description = describe_training(initial, source, training, loop);
  const Batch validation = source.validation(loop.validation_sequences);
  LoopResult result;
  size_t last_saved = 0;
  bool finished = false;

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
  auto save = [&](bool done) {
    if (loop.state_file.empty()) return;
    or_last_good_state([&] { save_training(loop.state_file, description, {trainer.state(), done}); });
    last_saved = trainer.steps();
  };
  if (!loop.state_file.empty())
    if (std::optional<SavedTraining> saved = load_training(loop.state_file, description)) {
      finished = saved->finished;
      trainer.set_state(std::move(saved->state));
      result.resumed_at = last_saved = trainer.steps();
    }

  std::optional<InterruptionWatch> watch;
  if (!loop.state_file.empty()) watch.emplace();
  if (loop.started) loop.started(result.resumed_at);
  Progress progress(loop.name, static_cast<double>(loop.steps));
  double step_seconds = 0;
  uint64_t tokens = 0;  // of this process
  while (!finished && trainer.steps() < loop.steps) {
    const auto before = Clock::now();
    const StepReport report = or_last_good_state([&] { return trainer.step(); });
    step_seconds += seconds_since(before);
    tokens += report.tokens;
    if (report.step % loop.evaluate_every == 0 || report.step == loop.steps) {
      result.validation = evaluate(trainer.weights(), validation);
      if (loop.evaluated) loop.evaluated(report.step, result.validation);
      progress.note(
          message("loss ", report.cross_entropy, ", held-out accuracy ", result.validation.accuracy()));
      if (result.validation.accuracy() >= loop.stop_accuracy) break;
    }
    progress.set(static_cast<double>(report.step));
    const bool stopping = watch && interrupted();
    if ((report.step % loop.save_every == 0 || stopping) && report.step < loop.steps) save(false);
    if (stopping && report.step < loop.steps)
      throw Interrupted(message(loop.name, " was saved after step ", report.step, " of at most ", loop.steps,
                                " in ", loop.state_file, "; run the same command again to go on from there"));
  }
  if (!finished) save(true);
  // Evaluates a training that was at its end already; all others are evaluated after their last step.
  if (trainer.steps() == result.resumed_at) result.validation = evaluate(trainer.weights(), validation);
  result.weights = trainer.weights();
  result.steps = trainer.steps();
  result.tokens = trainer.tokens();
  result.seconds = seconds_since(start);
  result.tokens_per_second = step_seconds > 0 ? static_cast<double>(tokens) / step_seconds : 0;
  return result;
}

}  // namespace psm::train
