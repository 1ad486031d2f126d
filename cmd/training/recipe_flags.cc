#include "cmd/training/recipe_flags.h"

#include <charconv>
#include <cmath>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"

namespace psm::cmd {

TaskFlags::TaskFlags(Command& flags) {
  const auto add = [&](const char* name, std::string TaskFiles::*file, const char* what) {
    flags.when_read(
        [this, file, &path = flags.text(name, "", what)] { this->*file = resolve_user_path(path); });
  };
  add("text", &TaskFiles::text, "the text of a language model; its last tenth is held out");
  add("valid", &TaskFiles::valid,
      "the text, or the file of --sentences, that is held out in place of a tenth");
  add("sentences", &TaskFiles::sentences, "texts to classify, in a file of SST-2, QNLI or MRPC");
  add("images", &TaskFiles::images, "images to classify, in MNIST's format with --labels, or in CIFAR-10's");
  add("labels", &TaskFiles::labels, "their labels");
  flags.when_read([this] {
    if (tasks() > 1) throw Error("--text, --sentences and --images are three tasks; give one");
    if (!valid.empty() && text.empty() && sentences.empty())
      throw Error("--valid holds out texts; it needs --text or --sentences");
    if (images.empty() && !labels.empty()) throw Error("--labels are those of --images; give both");
  });
}

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

}  // namespace

RecipeFlags::RecipeFlags(Flags& flags)
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
      context_(
          flags.integer("context", 0, 0, 65536,
                        "T, tokens of a sequence, of text models; 0: 64, or as the model of --from has it")),
      paper_(flags.truth("paper", false,
                         "the paper as printed: epsilon 1e-3, eq. PWRoss and GELU's peaks alone, the scores "
                         "neither scaled nor trained without c; flags given beside it go before it")),
      power_(flags.integer("power", 0, 0, 16,
                           "p of PowerSoftmax, even; 0: 4 for recall and --paper, 6 for all else")),
      score_offset_(flags.text("score-offset", "",
                               "c of PowerSoftmax's (s + c)^p: none, learned (a number of each head, from p "
                               "on), or a number; unless given none for recall and --paper, p for all else")),
      epsilon_(flags.number("epsilon", 0.2, 1e-9, 1e3,
                            "of the last stage and of inference, added to the mean of s^p")),
      steps_(flags.integer("steps", 0, 0, 10000000,
                           "training steps of each attention, at most; 0: 1500 for recall, 1200 for all "
                           "else; a quarter of that for continual training")),
      range_steps_(
          flags.integer("range-steps", 0, 0, 10000000,
                        "steps of range minimisation; 0: 400 for recall, half of --steps for all else")),
      batch_(flags.integer("batch", 0, 0, 65536, "sequences a step")),
      rate_(flags.number("rate", 0, 0, 1, "peak learning rate")),
      precision_(flags.text("precision", "fp32",
                            "fp32, or bf16: of both factors of matrix products, whose sums and all else stay "
                            "fp32; twice the rate of products where the processor has them")),
      seed_(flags.integer("seed", 1, 1, INT64_MAX, "of data and training")) {}

void RecipeFlags::set_family(const Task& task, train::RecipeOptions& options) const {
  if (family_.empty()) return;
  attention::ModelConfig& model = options.model;
  const attention::ModelConfig family = attention::preset(family_);
  const char* of_task = !task.is_classifier()             ? "a language model"
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

void RecipeFlags::set_score_offset(train::RecipeOptions& options) const {
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

void RecipeFlags::set_precision(train::RecipeOptions& options) const {
  for (const nn::Precision precision : {nn::Precision::kFp32, nn::Precision::kBf16}) {
    if (precision_ != nn::name_of(precision)) continue;
    options.training.precision = options.range_training.precision = precision;
    return;
  }
  throw Error(message("--precision takes fp32 or bf16, not '", precision_, "'"));
}

train::RecipeOptions RecipeFlags::recipe(const Task& task, const attention::Checkpoint* from) const {
  const size_t from_scratch = steps_ > 0 && !from ? static_cast<size_t>(steps_) : kTextSteps;
  train::RecipeOptions options = task.recipe(from_scratch, seed());
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
        throw Error(message("--power ", power_, ", but the model of --from was trained with ", start.power));
      }
      if (flags_.given("score-offset"))
        throw Error("--score-offset is decided by the model of --from; leave it out");
      options.constant_score_offset = common_offset(from->weights);
      if (!flags_.given("attention")) model.attention = start.attention;
    }
    train::require_continuable(start, model);
    train::make_continual(options);
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
  if (rate_ > 0) options.training.rate.peak = rate_;
  set_precision(options);
  return options;
}

}  // namespace psm::cmd
