// Continual training without the model's text: a softmax language model writes its own, and is trained on it
// with PowerSoftmax in softmax's place (the paper's section "Continual Training", with samples for data); then
// its ranges are minimised on the same text, and what it loses as a polynomial model is told.
#include <cstdio>
#include <filesystem>
#include <optional>

#include "attention/batched/measure.h"
#include "attention/reference/polynomial_model.h"
#include "attention/reference/range_use.h"
#include "attention/trained/generate.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "cmd/reports/polynomial_report.h"
#include "cmd/reports/range_report.h"
#include "cmd/terminal/common_flags.h"
#include "cmd/terminal/table.h"
#include "cmd/training/model_tokenizer.h"
#include "train/data/sequence_data.h"
#include "train/evaluation/polynomial_evaluation.h"
#include "train/stages/loop.h"
#include "train/stages/recipe.h"
#include "train/stages/score_offset_fit.h"

namespace psm::cmd {
namespace {

constexpr int kValidation = 64;         // held-out samples that models are compared on
constexpr int kFitted = 32;             // samples on which score offsets are fitted
constexpr size_t kEvaluateEvery = 100;  // steps
// Rows of a trained softmax are sharper than those that a power learns from random weights: of the powers with
// as many levels as train::kPower the highest (attention/PAPER.md).
constexpr int kSharpPower = 8;

// Losses of models on held-out samples and, if there are any, on documents.
class Report {
 public:
  Report(train::Batch samples, const std::optional<train::Batch>& documents)
      : samples_(std::move(samples)), documents_(documents) {}

  void trained(const char* name, const attention::ModelWeights& weights) {
    row(name, [&](const train::Batch& examples) { return train::evaluate(weights, examples); });
  }
  // And how often values leave the intervals there.
  void polynomial(const char* name, const attention::PolynomialModel& model) {
    row(name, [&](const train::Batch& examples) { return train::evaluate_polynomial(model, examples); });
    leaves("held-out samples", model, samples_);
    if (documents_) leaves("the documents", model, *documents_);
  }

  std::string text() const { return leaves_ + losses_.table().text(); }
  const Json& json() const { return json_; }

 private:
  template <typename Score>
  void row(const char* name, const Score& score) {
    Figures::Row& row = losses_.row().cell("model", name);
    row.number("samples_nats_a_token", "nats a token of held-out samples", score(samples_).cross_entropy,
               "%.4f");
    if (documents_) {
      const train::Evaluation real = score(*documents_);
      row.number("nats_a_token", "of the documents", real.cross_entropy, "%.4f")
          .both("tokens", "tokens", static_cast<int64_t>(real.scored));
    }
    json_[name] = row.object();
  }

  void leaves(const char* where, const attention::PolynomialModel& model, const train::Batch& examples) {
    const auto uses = attention::count_range_leaves(model, examples.examples());
    const Figures figures = range_use_figures(uses, model.weights.config.layers);
    leaves_ += message("on ", where, ":\n", figures.table().text(), range_use_advice(uses));
    json_["unseen"][where] = figures.json();
  }

  const train::Batch samples_;
  const std::optional<train::Batch>& documents_;
  Figures losses_;
  std::string leaves_;
  Json json_;
};

int self_train(int argc, char** argv) {
  Flags flags("bazel run //cmd:self_train -- --from SOFTMAX.safetensors --out FOLDER [--text FILE] [flags]",
              "Turns a softmax language model into one with PowerSoftmax by continual training on text "
              "sampled from the\n"
              "model itself: towards its distribution of each next token, from score offsets fitted to its "
              "attention. Then\n"
              "minimises its ranges on the same text. Prints the losses of all models, the polynomial one "
              "too, on held-out\n"
              "samples and on the documents of --text. Writes power_softmax.safetensors "
              "and\n"
              "final.safetensors (for //cmd:polynomialise). An interrupted training goes on where it was.");
  const std::string& from = flags.text("from", "", "a softmax model with its tokenizer (//cmd:import)");
  const std::string& out =
      flags.output("out", "folder for the model; made if it is missing", Flags::Output::kFolder);
  const std::string& text = flags.text("text", "", "documents on which both models are scored");
  const int64_t& tokens =
      flags.integer("sample-self", 500'000, 1000, 1'000'000'000, "tokens to sample from the model");
  const int64_t& given_length =
      flags.integer("length", 0, 0, 1 << 20, "tokens of a sample, from 8 on; 0: as many as the model reads");
  const double& temperature = flags.number("temperature", 1, 0.1, 10, "of sampling");
  const int64_t& top_k =
      flags.integer("top-k", 0, 0, 1 << 20, "sample among so many of the likeliest tokens; 0: all");
  const int64_t& steps = flags.integer("steps", 600, 1, 10'000'000, "training steps");
  const int64_t& batch = flags.integer("batch", 16, 1, 65536, "samples a step");
  const int64_t& given_range_steps =
      flags.integer("range-steps", 0, 0, 10'000'000, "steps of range minimisation; 0: half of --steps");
  const double& rate = flags.number("rate", 2e-3, 1e-9, 1, "peak learning rate, of both trainings");
  const int64_t& power = flags.integer("power", kSharpPower, 2, 16, "p of PowerSoftmax (s + c)^p, even");
  const double& epsilon =
      flags.number("epsilon", 1e-3, 0, 1e3, "added to a row's sum after division by its largest score");
  const int64_t& seed = flags.integer("seed", 1, 1, INT64_MAX, "of samples and training");
  const CommonFlags common(flags);
  flags.parse(argc, argv);
  common.apply();
  require_given(flags, {"from", "out"});

  if (given_length > 0 && given_length < 8)
    throw Error(message("--length ", given_length, " is less than 8"));
  attention::Checkpoint checkpoint = attention::load_checkpoint(resolve_user_path(from));
  const attention::ModelWeights softmax = checkpoint.weights;
  if (softmax.config.attention != attention::AttentionKind::kSoftmax)
    throw Error("the model of --from has no softmax to replace; give a softmax model");
  const auto tokenizer = tokenizer_of(checkpoint);
  if (!tokenizer || !tokenizer->start())
    throw Error(
        "the model of --from keeps no tokenizer with a token that begins a text; import it with --tokenizer");
  const attention::ModelWeights replaced =
      train::with_attention(softmax, attention::AttentionKind::kPowerSoftmax, static_cast<int>(power),
                            epsilon, /*score_offset=*/true);
  replaced.config.validate();
  const int64_t length = given_length > 0 ? given_length : softmax.config.context;
  std::optional<train::Batch> documents;
  if (!text.empty()) documents = read_documents(resolve_user_path(text), *tokenizer, softmax.config);
  const double start = seconds_now();
  const std::vector<std::vector<int>> prompts(static_cast<size_t>((tokens + length - 1) / length),
                                              {*tokenizer->start()});
  const train::SequenceData data(
      attention::generate(softmax, prompts, static_cast<int>(length),
                          {temperature, static_cast<int>(top_k), static_cast<uint64_t>(seed)}),
      softmax.config.vocab, "the model's own samples");
  const double sampling_seconds = seconds_now() - start;
  std::printf("%s, sampled in %s (%.0f tokens/s)\n", data.description().c_str(),
              seconds_text(sampling_seconds).c_str(),
              static_cast<double>(prompts.size()) * static_cast<double>(length) / sampling_seconds);

  TrainingRandom random(static_cast<uint64_t>(seed));
  train::Batch examples;
  data.draw(kFitted, random, examples);
  const attention::ModelWeights fitted = train::with_fitted_offsets(softmax, replaced, examples);

  const auto started = [](size_t resumed_at) {
    if (resumed_at == 0) return;
    std::printf("goes on from step %zu, which was saved\n", resumed_at);
  };
  train::TrainerOptions training;
  training.teacher = &softmax;
  training.batch = static_cast<int>(batch);
  training.rate = {rate, static_cast<size_t>(steps) / 10 + 1, static_cast<size_t>(steps), 0.05};
  training.seed = static_cast<uint64_t>(seed);
  const std::string folder = resolve_user_path(out);
  std::filesystem::create_directories(folder);
  train::LoopOptions loop;
  loop.name = "power_softmax";
  loop.steps = static_cast<size_t>(steps);
  loop.evaluate_every = kEvaluateEvery;
  loop.validation_sequences = kValidation;
  loop.state_file = train::state_file(folder, loop.name);
  loop.started = started;
  const train::LoopResult result = train::run_training(fitted, data, training, loop);
  checkpoint.weights = result.weights;
  checkpoint.ranges.reset();
  checkpoint.polynomial.reset();
  attention::save_checkpoint(folder + "/power_softmax.safetensors", checkpoint);

  train::RecipeOptions recipe;
  recipe.model = result.weights.config;
  recipe.seed = static_cast<uint64_t>(seed);
  recipe.range_training = training;
  recipe.range_training.ranges = train::text_range_losses();
  recipe.range_steps = static_cast<size_t>(given_range_steps > 0 ? given_range_steps : (steps + 1) / 2);
  recipe.range_training.rate = {rate, recipe.range_steps / 10 + 1, recipe.range_steps, 0.05};
  recipe.mean_denominator = train::kTextMeanDenominator;
  recipe.evaluate_every = kEvaluateEvery;
  recipe.validation_sequences = kValidation;
  recipe.state_folder = folder;
  recipe.started = [&](const std::string&, size_t, size_t resumed_at) { started(resumed_at); };
  const train::TrainedModels models = train::continue_recipe(result.weights, recipe, data);
  checkpoint.weights = models.final_model;
  checkpoint.ranges = models.ranges;
  attention::save_checkpoint(folder + "/final.safetensors", checkpoint);
  std::filesystem::remove(loop.state_file);
  for (const train::StageReport& stage : models.stages)
    std::filesystem::remove(train::state_file(folder, stage.name));

  Report report(data.validation(kValidation), documents);
  report.trained("softmax", softmax);
  report.trained("PowerSoftmax, c = p", replaced);
  report.trained("PowerSoftmax, c fitted", fitted);
  report.trained("PowerSoftmax, trained", result.weights);
  report.trained("after range minimisation", models.final_model);
  report.polynomial("polynomial", attention::make_polynomial(models.final_model, models.ranges, {}));
  const attention::ModelConfig& config = models.final_model.config;
  const Figures ranges = range_figures(config, models.ranges_before, models.ranges);
  std::printf("ranges on samples before and after range minimisation, in the form that runs encrypted:\n%s%s",
              ranges.table().text().c_str(), report.text().c_str());
  const double training_seconds = result.seconds + models.stages.back().seconds;
  std::printf(
      "%zu + %zu steps in %s (%.0f tokens/s); wrote power_softmax.safetensors, final.safetensors to %s\n",
      result.steps, recipe.range_steps, seconds_text(training_seconds).c_str(), result.tokens_per_second,
      out.c_str());
  Json json = report.json();
  json["ranges"] = ranges.json();
  json["steps"] = static_cast<int64_t>(result.steps);
  json["sampled_tokens"] = static_cast<int64_t>(prompts.size()) * length;
  json["sampling_seconds"] = sampling_seconds;
  json["range_steps"] = static_cast<int64_t>(recipe.range_steps);
  json["training_seconds"] = training_seconds;
  common.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_command([&] { return psm::cmd::self_train(argc, argv); });
}
