#include "cmd/study/experiments/text_study.h"

#include <algorithm>
#include <iterator>

#include "ckks/base/error.h"
#include "cmd/timing/train_suite.h"
#include "train/stages/recipe.h"

namespace psm {
namespace {

constexpr int kHeadDim = 16;

// For file names: "power_softmax-p4-stable-e0.001-l4-d64".
std::string name_of(const ModelConfig& model) {
  std::string name(name_of(model.attention));
  if (model.attention == AttentionKind::kPowerSoftmax)
    name += message("-p", model.power, model.score_offset ? "-offset-" : "-", name_of(model.form), "-e",
                    model.epsilon);
  return name + "-l" + std::to_string(model.layers) + "-d" + std::to_string(model.width);
}

}  // namespace

const RangeStage kRangeStages[3] = {{"without range losses", "ranges-none", [] { return RangeLosses{}; }},
                                    {"the paper's losses", "ranges-paper", paper_range_losses},
                                    {"smooth losses", "ranges-smooth", text_range_losses}};

TextStudy::TextStudy(const StudyContext& context)
    : context_(context),
      data_(TextData::from_files(context.data_file("text/gutenberg7-train.txt"),
                                 context.data_file("text/gutenberg7-valid.txt"), {.context = kContext})) {}

ModelConfig TextStudy::model(AttentionKind attention, int layers, int width) const {
  ModelConfig model = text_recipe(data_, 1, 1).model;
  model.attention = attention;
  model.form = PowerForm::kStable;
  model.layers = layers;
  model.width = width;
  model.heads = width / kHeadDim;
  model.ffn = 4 * width;
  return model;
}

Trainings TextStudy::train(const std::string& label, const ModelConfig& model, size_t steps,
                           bool fixed_offset) const {
  return train_seeds(context_, label, [&](uint64_t seed) {
    TrainerOptions options = text_recipe(data_, steps, seed).training;
    options.batch = kBatch;
    options.seed = data_seed(seed);
    options.fixed_score_offset = fixed_offset;
    return psm::train(context_, name_of(model) + "-s" + std::to_string(seed),
                      random_weights(model, weight_seed(seed)), data_, options, steps);
  });
}

double TextStudy::flops(const ModelConfig& model) const { return training_step_flops(model, kBatch); }

size_t TextStudy::family_steps() const {
  const double models = 1.0 + static_cast<double>(std::size(kPowers) + std::size(kUnstablePowers));
  return context_.steps(models * flops(model(AttentionKind::kSoftmax, kFamilyLayers, kFamilyWidth)));
}

Trainings TextStudy::softmax() const {
  return train("softmax", model(AttentionKind::kSoftmax, kFamilyLayers, kFamilyWidth), family_steps());
}

Trainings TextStudy::power(int p) const {
  ModelConfig config = model(AttentionKind::kPowerSoftmax, kFamilyLayers, kFamilyWidth);
  config.power = p;
  return train("p = " + std::to_string(p), config, family_steps());
}

Trainings TextStudy::unstable_power(int p) const {
  ModelConfig config = model(AttentionKind::kPowerSoftmax, kFamilyLayers, kFamilyWidth);
  config.power = p;
  config.form = PowerForm::kLipschitz;
  return train("p = " + std::to_string(p) + ", not stable", config, family_steps());
}

ModelWeights TextStudy::with_power_softmax(ModelWeights weights) {
  const int power = weights.config.power;
  return with_attention(std::move(weights), AttentionKind::kPowerSoftmax, power,
                        RecipeOptions{}.training_epsilon);
}

ModelWeights TextStudy::inference_form(ModelWeights weights, bool scaled) const {
  return psm::inference_form(std::move(weights), data_, scaled);
}

Trained TextStudy::train_on(const std::string& name, const ModelWeights& weights, size_t steps,
                            uint64_t seed) const {
  TrainerOptions options = text_recipe(data_, steps, seed).training;
  options.batch = kBatch;
  options.seed = data_seed(seed);
  return psm::train(context_, name, weights, data_, options, steps);
}

Trained TextStudy::replace_attention(const std::string& name, ModelWeights weights, size_t steps,
                                     uint64_t seed) const {
  return train_on(name, with_power_softmax(std::move(weights)), steps, seed);
}

size_t TextStudy::range_steps() const { return std::max<size_t>(4, family_steps() / 2); }

Trained TextStudy::minimise_ranges(const std::string& name, ModelWeights weights, const RangeLosses& losses,
                                   size_t steps, uint64_t seed, bool fixed_offset) const {
  TrainerOptions options = text_recipe(data_, 2 * steps, seed).range_training;
  options.fixed_score_offset = fixed_offset;
  options.batch = kBatch;
  options.seed = data_seed(seed);
  options.ranges = losses;
  return psm::train(context_, name, inference_form(std::move(weights)), data_, options, steps);
}

}  // namespace psm
