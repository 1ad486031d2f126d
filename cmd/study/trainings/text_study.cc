#include "cmd/study/trainings/text_study.h"

#include <algorithm>
#include <iterator>

#include "ckks/base/error.h"
#include "cmd/terminal/table.h"
#include "cmd/timing/train_suite.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kHeadDim = 16;

train::TrainerOptions with_study_settings(train::TrainerOptions options, uint64_t seed) {
  options.batch = TextStudy::kBatch;
  options.seed = data_seed(seed);
  options.rate.warmup = std::min(options.rate.warmup, std::max<size_t>(1, options.rate.total / 10));
  options.fixed_score_offset = true;  // where there is one
  return options;
}

}  // namespace

TextStudy::TextStudy(const StudyContext& context)
    : context_(context),
      data_(train::TextData::from_files(context.training_text(), context.held_out_text(),
                                        {.context = kContext})) {}

attention::ModelConfig TextStudy::model(attention::AttentionKind attention, int layers, int width) const {
  attention::ModelConfig model = train::text_recipe(data_, 1, 1).model;
  model.attention = attention;
  model.form = attention::PowerForm::kStable;
  model.power = 4;  // the paper's
  model.score_offset = false;
  model.layers = layers;
  model.width = width;
  model.heads = width / kHeadDim;
  model.ffn = 4 * width;
  return model;
}

std::string TextStudy::name_of(const attention::ModelConfig& model) {
  std::string name(attention::name_of(model.attention));
  if (model.attention == attention::AttentionKind::kPowerSoftmax)
    name += message("-p", model.power, model.score_offset ? "-offset-" : "-", attention::name_of(model.form),
                    "-e", model.epsilon);
  return name + "-l" + std::to_string(model.layers) + "-d" + std::to_string(model.width);
}

train::TrainerOptions TextStudy::training(size_t steps, uint64_t seed) const {
  return with_study_settings(train::text_recipe(data_, steps, seed).training, seed);
}

Trained TextStudy::train(const std::string& name, const attention::ModelWeights& initial,
                         const train::TrainerOptions& options) const {
  return psm::cmd::train(context_, name, initial, data_, options, options.rate.total);
}

Trainings TextStudy::train(const std::string& label, const attention::ModelConfig& model,
                           size_t steps) const {
  return train_seeds(context_, label, [&](uint64_t seed) {
    return train(message(name_of(model), "-s", seed), attention::random_weights(model, weight_seed(seed)),
                 training(steps, seed));
  });
}

double TextStudy::flops(const attention::ModelConfig& model) const {
  return training_step_flops(model, kBatch);
}

size_t TextStudy::family_steps() const {
  const double models = 1.0 + static_cast<double>(std::size(kPowers) + std::size(kUnstablePowers));
  return context_.steps(models *
                        flops(model(attention::AttentionKind::kSoftmax, kFamilyLayers, kFamilyWidth)));
}

Trainings TextStudy::softmax() const {
  return train("softmax", model(attention::AttentionKind::kSoftmax, kFamilyLayers, kFamilyWidth),
               family_steps());
}

Trainings TextStudy::power(int p, attention::PowerForm form) const {
  attention::ModelConfig config = model(attention::AttentionKind::kPowerSoftmax, kFamilyLayers, kFamilyWidth);
  config.power = p;
  config.form = form;
  return train(message("p = ", p, form == attention::PowerForm::kStable ? "" : ", not stable"), config,
               family_steps());
}

attention::ModelWeights TextStudy::with_power_softmax(attention::ModelWeights weights) {
  const int power = weights.config.power;
  return train::with_attention(std::move(weights), attention::AttentionKind::kPowerSoftmax, power,
                               train::RecipeOptions{}.training_epsilon);
}

attention::ModelWeights TextStudy::inference_form(attention::ModelWeights weights, bool scaled) const {
  return psm::cmd::inference_form(std::move(weights), data_, scaled);
}

size_t TextStudy::range_steps() const { return std::max<size_t>(4, family_steps() / 2); }

Trained TextStudy::minimise_ranges(const std::string& name, attention::ModelWeights weights,
                                   const train::RangeLosses& losses, size_t steps, uint64_t seed) const {
  train::TrainerOptions options =
      with_study_settings(train::text_recipe(data_, 2 * steps, seed).range_training, seed);
  options.ranges = losses;
  return train(name, inference_form(std::move(weights)), options);
}

SvgPanel TextStudy::curves(const std::string& title, const std::string& x_label) {
  SvgPanel panel;
  panel.title = title, panel.x_label = x_label, panel.y_label = "bits a character, held out";
  return panel;
}

std::string TextStudy::after(size_t steps, const attention::ModelConfig& model) {
  return message("held-out text after ", steps, " steps of ", kBatch, " x ", kContext, " characters, ",
                 model.layers, " layers of d = ", model.width, " with heads of ", model.width / model.heads);
}

}  // namespace psm::cmd
