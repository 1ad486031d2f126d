// Steps 1 and 2 of Algorithm 1, from scratch or from a trained model: trains softmax and PowerSoftmax models
// alike, or continues a softmax model with PowerSoftmax, and minimises the ranges of the latter.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "cmd/prompts/prompt_form.h"
#include "cmd/reports/range_report.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/table.h"
#include "cmd/training/training_run.h"
#include "nn/text/bpe/tokenizer_file.h"

namespace psm::cmd {
namespace {

constexpr size_t kTextSteps = 1200;

void set_if_given(int& value, int64_t given) {
  if (given > 0) value = static_cast<int>(given);
}

// The score offset that all heads share, as constant ones do until their scores are scaled; or none.
std::optional<double> common_offset(const attention::ModelWeights& weights) {
  std::optional<double> offset;
  for (const attention::LayerWeights& layer : weights.layers)
    for (const float c : layer.score_offset) {
      if (offset && *offset != static_cast<double>(c)) return {};
      offset = static_cast<double>(c);
    }
  return offset;
}

// The flags that change the recipe of the task.
class RecipeFlags {
 public:
  explicit RecipeFlags(Flags& flags)
      : flags_(flags),
        attention_(flags.text("attention", "power_softmax", "power_softmax, relu or softmax")),
        family_(flags.text("family", "",
                           "architecture of a fresh model: gpt-neox, gpt2, llama (language models), bert or "
                           "roberta (--text, of which they learn masked words), roberta (--sentences), vit "
                           "(--images); gpt-neox, roberta, vit unless given")),
        layers_(flags.integer("layers", 0, 0, 1024,
                              "of the model; for 0 here and below the task's recipe decides")),
        width_(flags.integer("width", 0, 0, 65536, "d, features of a token")),
        heads_(flags.integer("heads", 0, 0, 1024, "of attention; they divide the width")),
        kv_heads_(flags.integer("kv-heads", 0, 0, 1024, "of keys and values; 0: as many as of queries")),
        ffn_(flags.integer("ffn", 0, 0, 262144, "features inside the feed-forward part")),
        context_(flags.integer(
            "context", 0, 0, 65536,
            "T, tokens of a sequence, of text models; 0: 64, or as the model of --from has it")),
        paper_(
            flags.truth("paper", false,
                        "the paper as printed: epsilon 1e-3, eq. PWRoss and GELU's peaks alone, the scores "
                        "neither scaled nor trained without c; flags given beside it go before it")),
        power_(flags.integer("power", 0, 0, 16,
                             "p of PowerSoftmax, even; 0: 4 for recall and --paper, 6 for all else")),
        score_offset_(
            flags.text("score-offset", "",
                       "c of PowerSoftmax's (s + c)^p: none, learned (a number of each head, from p "
                       "on), or a number; unless given none for recall and --paper, p for all else; "
                       "a PowerSoftmax model of --from keeps its own, learned unless all heads share it")),
        epsilon_(flags.number(
            "epsilon", 0.2, 1e-9, 1e3,
            "of the last stage and of inference, added to the mean of s^p; unless given "
            "1e-3 with --paper, else that of the model of --from, if it has been through that stage")),
        steps_(
            flags.integer("steps", 0, 0, 10000000,
                          "training steps of each attention, at most; 0: 1500 for recall, 1200 for all "
                          "else; a quarter of that for continual training; the learning rate rises for 100 "
                          "steps (50 of --range-steps) and falls only after them")),
        range_steps_(
            flags.integer("range-steps", 0, 0, 10000000,
                          "steps of range minimisation; 0: 400 for recall, for all else half of --steps, but "
                          "600 with --from")),
        batch_(flags.integer("batch", 0, 0, 65536, "sequences a step")),
        precision_(
            flags.text("precision", "fp32",
                       "fp32, or bf16: of both factors of matrix products, whose sums and all else stay "
                       "fp32; twice the rate of products where the processor has them")),
        seed_(flags.integer("seed", 1, 1, INT64_MAX, "of data and training")) {}

  // The requested context; 0: none.
  int context() const { return static_cast<int>(context_); }
  // Whether a fresh model of texts learns masked words.
  bool masked() const { return family_ == "bert" || family_ == "roberta"; }
  // The task's recipe with the changes of the flags, from random weights or from the model `from`. Throws
  // Error on a shape that no model has, on an odd power, and on flags that `from` decides.
  train::RecipeOptions recipe(const Task& task, const attention::Checkpoint* from) const {
    const size_t from_scratch = steps_ > 0 && !from ? static_cast<size_t>(steps_) : kTextSteps;
    train::RecipeOptions options = task.recipe(from_scratch, static_cast<uint64_t>(seed_));
    if (context_ > 0 && (task.recall_task() || task.source->patch_inputs() > 0))
      throw Error("--context is for texts; recall has sequences of 64 tokens, and an image all its patches");
    attention::ModelConfig& model = options.model;
    model.attention = attention::named<attention::AttentionKind>(attention_);
    if (paper_) train::follow_paper(options);
    set_if_given(model.power, power_);
    set_score_offset(options);
    if (!paper_ || flags_.given("epsilon")) options.inference_epsilon = epsilon_;
    if (from) {
      for (const char* name : {"family", "layers", "width", "heads", "kv-heads", "ffn"}) {
        if (flags_.given(name))
          throw Error(message("--", name, " is decided by the model of --from; leave it out"));
      }
      const attention::ModelConfig& start = from->weights.config;
      if (start.attention != attention::AttentionKind::kSoftmax) {
        if (power_ > 0 && power_ != start.power) {
          throw Error(
              message("--power ", power_, ", but the model of --from was trained with ", start.power));
        }
        if (flags_.given("score-offset"))
          throw Error("--score-offset is decided by the model of --from; leave it out");
        options.constant_score_offset = common_offset(from->weights);
        if (!paper_ && !flags_.given("epsilon") && start.form == attention::PowerForm::kLengthAgnostic)
          options.inference_epsilon = start.epsilon;
        if (!flags_.given("attention")) model.attention = start.attention;
      }
      train::require_continuable(start, model);
      // A quarter of the steps with the same learning rate. Higher and lower rates are worse.
      options.steps = (options.steps + 3) / 4;
    } else {
      set_family(task, options);
      set_if_given(model.kv_heads, kv_heads_);
      set_if_given(model.layers, layers_);
      set_if_given(model.width, width_);
      set_if_given(model.heads, heads_);
      set_if_given(model.ffn, ffn_);
    }
    model.validate();
    train::set_steps(options, steps_ > 0 ? static_cast<size_t>(steps_) : options.steps,
                     range_steps_ > 0 ? static_cast<size_t>(range_steps_) : options.range_steps);
    set_if_given(options.training.batch, batch_);
    set_if_given(options.range_training.batch, batch_);
    set_precision(options);
    return options;
  }

 private:
  void set_family(const Task& task, train::RecipeOptions& options) const {
    if (family_.empty()) return;
    attention::ModelConfig& model = options.model;
    const attention::ModelConfig family = attention::preset(family_);
    const char* of_task = task.recall_task()                ? "recall (give --text with --tokenizer)"
                          : !task.is_classifier()           ? "a language model"
                          : task.source->patch_inputs() > 0 ? "--images"
                                                            : "--sentences";
    const bool fits = task.is_classifier() ? family_ == (task.source->patch_inputs() > 0 ? "vit" : "roberta")
                      : task.recall_task() != nullptr ? family.causal
                                                      : family_ != "vit";
    if (!fits) throw Error(message("--family ", family_, " is not for ", of_task, "; leave it out"));
    model.block = family.block, model.norm = family.norm, model.feed_forward = family.feed_forward;
    model.positions = family.positions, model.biases = family.biases;
    if (family_ == "llama") model.rotary_fraction = family.rotary_fraction;
    if (task.is_classifier() || !masked()) return;
    model.causal = false, model.norm_epsilon = family.norm_epsilon;
    if (family.separator > 0) model.separator = *task.codec.tokenizer()->end();
    options.table_scale = train::kEncoderTables;
  }

  void set_score_offset(train::RecipeOptions& options) const {
    if (!flags_.given("score-offset")) {
      if (options.model.score_offset) options.constant_score_offset = options.model.power;
      return;
    }
    options.model.score_offset = score_offset_ != "none";
    options.constant_score_offset = {};
    if (score_offset_ == "none" || score_offset_ == "learned") return;
    double value = 0;
    const auto [end, error] =
        std::from_chars(score_offset_.data(), score_offset_.data() + score_offset_.size(), value);
    if (error != std::errc() || end != score_offset_.data() + score_offset_.size() || !std::isfinite(value))
      throw Error(message("--score-offset takes none, learned or a number, not '", score_offset_, "'"));
    options.constant_score_offset = value;
  }

  void set_precision(train::RecipeOptions& options) const {
    if (precision_ != "fp32" && precision_ != "bf16")
      throw Error(message("--precision takes fp32 or bf16, not '", precision_, "'"));
    options.training.precision = options.range_training.precision =
        precision_ == "bf16" ? nn::Precision::kBf16 : nn::Precision::kFp32;
  }

  const Flags& flags_;
  const std::string &attention_, &family_;
  const int64_t &layers_, &width_, &heads_, &kv_heads_, &ffn_, &context_;
  const bool& paper_;
  const int64_t& power_;
  const std::string& score_offset_;
  const double& epsilon_;
  const int64_t &steps_, &range_steps_, &batch_;
  const std::string& precision_;
  const int64_t& seed_;
};

// Before a stage, which may take long.
void say_started(const std::string& stage, size_t steps, size_t resumed_at) {
  if (resumed_at == 0) {
    std::printf("  %-14s at most %zu steps ...\n", stage.c_str(), steps);
  } else {
    std::printf("  %-14s goes on from step %zu of at most %zu, which was saved\n", stage.c_str(), resumed_at,
                steps);
  }
}

constexpr const char* kFinal = "final.safetensors";
std::string file_of(attention::AttentionKind kind) {
  return std::string(attention::name_of(kind)) + ".safetensors";
}

int train(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:train -- --out FOLDER [--text FILE] [--from CHECKPOINT] [flags]",
      "From scratch: trains a softmax transformer and one with the given attention alike, "
      "minimises the latter's ranges, and writes softmax.safetensors, ATTENTION.safetensors and "
      "final.safetensors (for //cmd:polynomialise). From a softmax model: replaces its attention "
      "and trains it on for a short time (continual training), then minimises the ranges. From a "
      "model of that attention: minimises the ranges; one that has no scores of a training, such as one with "
      "a fresh classifier, is trained before. The task is in-context recall, or with "
      "--text the bytes of a file, with --tokenizer its tokens; or the classification of "
      "--sentences or --images. An interrupted training goes on where it was.");
  const std::string& out =
      flags.output("out", "folder for the models; made if it is missing", Flags::Output::kFolder);
  TaskFlags files(flags);
  const std::string& tokenizer_path = flags.text("tokenizer", "",
                                                 "tokenizer.json, llama2.c's file, GPT-2's vocab.json or "
                                                 "BERT's vocab.txt, which the model keeps; else the "
                                                 "text's bytes are its tokens, one a character in ASCII");
  const std::string& from_path = flags.text("from", "", "begin with this model instead of random weights");
  const RecipeFlags recipe_flags(flags);
  flags.begin(argc, argv, {"out"});
  if (flags.given("tokenizer") && files.text.empty() && files.sentences.empty())
    throw Error("--tokenizer makes tokens of a text; it needs --text or --sentences");
  if (flags.given("tokenizer") && flags.given("from"))
    throw Error("--tokenizer is decided by the model of --from; leave it out");

  const std::string folder = resolve_user_path(out);
  const auto keep_start = [&](const std::string& name) {
    require_kept(resolve_user_path(from_path), folder + "/" + name, "the training");
  };
  if (!from_path.empty()) keep_start(kFinal);
  std::optional<attention::Checkpoint> from;
  if (!from_path.empty()) from = attention::load_checkpoint(resolve_user_path(from_path));
  std::shared_ptr<const nn::Tokenizer> tokenizer;
  if (flags.given("tokenizer")) tokenizer = nn::load_tokenizer(resolve_user_path(tokenizer_path));
  if (from && recipe_flags.context() > 0)
    attention::set_context(from->weights, recipe_flags.context(), /*may_grow=*/true);
  const int context = recipe_flags.context() > 0 ? recipe_flags.context() : train::kTextContext;
  const Task task =
      from                       ? Task::of(*from, files)
      : !files.sentences.empty() ? Task::sentences(files.sentences, files.valid, context, tokenizer)
      : !files.images.empty()    ? Task::images(files.images, files.labels)
      : files.text.empty()       ? Task::recall()
                           : Task::text(files.text, files.valid, context, tokenizer, recipe_flags.masked());
  if (from && task.source->classes() != from->weights.config.classes)
    throw Error(message("the model has ", from->weights.config.classes, " classes, the data ",
                        task.source->classes(), "; import the model with --classes ", task.source->classes(),
                        ", which gives it a fresh classifier"));
  train::RecipeOptions recipe = recipe_flags.recipe(task, from ? &*from : nullptr);
  recipe.trains_on = from && read_scores(*from).data.empty();
  if (from && (recipe.trains_on || recipe.model.attention != from->weights.config.attention))
    keep_start(file_of(recipe.model.attention));
  std::filesystem::create_directories(folder);
  recipe.state_folder = folder;
  recipe.started = say_started;
  print(task.source->description(), "\n");
  TrainingRun run = train_task(task, recipe, from ? &*from : nullptr);

  TaskScores scores = run.scores;
  std::string written;
  const auto save = [&](const std::string& name, const attention::Checkpoint& checkpoint) {
    attention::save_checkpoint(folder + "/" + name, checkpoint);
    written += (written.empty() ? "" : ", ") + name;
  };
  const auto save_stage = [&](const attention::ModelWeights& weights,
                              std::optional<attention::Ranges> ranges) {
    attention::Checkpoint checkpoint{weights, std::move(ranges), {}, {}};
    write_notes(task.codec, checkpoint.notes, checkpoint.weights.config);
    write_scores(scores, checkpoint);
    save(file_of(weights.config.attention), checkpoint);
  };
  save(kFinal, run.checkpoint);
  scores.ranges = {};
  if (!from || recipe.trains_on || run.models.trained.config.attention != from->weights.config.attention) {
    save_stage(run.models.trained, {});
  }
  if (!from && !run.models.softmax.layers.empty()) {
    scores.trained = {};
    // Softmax can be made polynomial as it is (//cmd:polynomialise), which takes its ranges.
    save_stage(run.models.softmax,
               train::measure_ranges(run.models.softmax, *task.source, recipe.range_sequences()));
  }
  const Figures ranges =
      range_figures(run.models.final_model.config, run.models.ranges_before, run.models.ranges);
  print("ranges on training data before and after range minimisation, in the form that runs encrypted:\n",
        ranges.table().text());
  // A finished training begins anew when it is asked for again; a model that was only evaluated had none.
  for (const train::StageReport& stage : run.models.stages)
    if (stage.seconds > 0) std::filesystem::remove(train::state_file(folder, stage.name));
  print(scores_table(task, run.scores), seconds_text(run.seconds), "; wrote ", written, " to ", out, "\n");
  Json json;
  for (const train::StageReport& stage : run.models.stages) {
    json["stages"].push_back(Json::Object{{"stage", stage.name},
                                          {"steps", static_cast<int64_t>(stage.steps)},
                                          {"tokens", static_cast<int64_t>(stage.tokens)},
                                          {"seconds", stage.seconds},
                                          {"tokens_per_second", stage.tokens_per_second},
                                          {"validation_accuracy", stage.validation.accuracy()},
                                          {"validation_perplexity", stage.validation.perplexity()}});
  }
  json["ranges"] = ranges.json();
  json["scores"] = scores_json(run.scores);
  if (!task.counts_right()) json["bytes_a_token"] = task.bytes_per_target(task.test());
  json["seconds"] = run.seconds;
  flags.write_json(json);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run(psm::cmd::train, argc, argv); }
