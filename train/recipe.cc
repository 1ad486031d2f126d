#include "train/recipe.h"

namespace psm {
namespace {

// Seeds of the parts of a run, all from one.
enum : std::uint64_t { kInitialWeights, kTrainingData, kRangeData };

std::uint64_t derived_seed(std::uint64_t seed, std::uint64_t part) {
  return TrainingRandom(seed).split(part).state();
}

}  // namespace

RecipeOptions recall_recipe(const RecallTask& task, std::uint64_t seed) {
  RecipeOptions options;
  options.seed = seed;
  ModelConfig& model = options.model;
  model.vocab = task.vocab();
  model.context = task.context();
  model.layers = 2;
  model.width = 64;
  model.heads = 2;
  model.ffn = 128;
  model.rotary_fraction = 0.5;
  model.rotary_base = 20;
  options.training.batch = options.range_training.batch = 64;
  options.training.rate = {3e-3, 100, options.steps, 0.05};
  options.range_training.rate = {2e-3, 50, options.range_steps, 0.05};
  options.range_training.ranges = default_range_losses();
  return options;
}

RecipeOptions text_recipe(const TextData& data, std::size_t steps, std::uint64_t seed) {
  RecipeOptions options;
  options.seed = seed;
  ModelConfig& model = options.model;
  model.vocab = data.vocab();
  model.context = data.context();
  model.layers = 2;
  model.width = 128;
  model.heads = 4;
  model.ffn = 512;
  model.rotary_fraction = 0.5;
  model.rotary_base = 100;
  options.steps = steps;
  options.stop_accuracy = 1.1;
  options.range_steps = steps / 2;
  options.training.batch = options.range_training.batch = 32;
  options.training.rate = {3e-3, 100, steps, 0.05};
  options.range_training.rate = {2e-3, 50, options.range_steps, 0.05};
  options.range_training.ranges = text_range_losses();
  options.evaluate_every = 100;
  return options;
}

TrainedModels run_recipe(const RecipeOptions& options, const DataSource& source,
                         const std::function<void(const StageReport&)>& report) {
  TrainedModels models;
  auto run = [&](const std::string& name, const ModelWeights& initial, TrainerOptions training,
                 std::uint64_t data_seed, std::size_t steps, double stop_accuracy) {
    training.seed = derived_seed(options.seed, data_seed);
    LoopOptions loop;
    loop.name = name;
    loop.steps = steps;
    loop.stop_accuracy = stop_accuracy;
    loop.evaluate_every = options.evaluate_every;
    loop.validation_sequences = options.validation_sequences;
    if (!options.state_folder.empty()) loop.state_file = options.state_folder + "/" + name + ".training";
    const LoopResult result = run_training(initial, source, training, loop);
    models.stages.push_back(
        {name, result.validation, result.steps, result.seconds, result.tokens_per_second});
    if (report) report(models.stages.back());
    return result.weights;
  };

  ModelConfig config = options.model;
  config.epsilon = options.training_epsilon;
  config.form = PowerForm::kStable;
  config.attention = AttentionKind::kSoftmax;
  const std::uint64_t weight_seed = derived_seed(options.seed, kInitialWeights);
  if (options.softmax_baseline && options.model.attention != AttentionKind::kSoftmax)
    models.softmax = run("softmax", random_weights(config, weight_seed), options.training, kTrainingData,
                         options.steps, options.stop_accuracy);

  config.attention = options.model.attention;
  models.trained = run(std::string(name_of(config.attention)), random_weights(config, weight_seed),
                       options.training, kTrainingData, options.steps, options.stop_accuracy);

  ModelWeights inference_form = models.trained;
  inference_form.config.form = PowerForm::kLengthAgnostic;
  inference_form.config.epsilon = options.inference_epsilon;
  models.final_model = run("ranges", inference_form, options.range_training, kRangeData, options.range_steps,
                           /*stop_accuracy=*/1.1);
  models.ranges = measure_ranges(models.final_model, source, options.range_sequences);
  return models;
}

Ranges measure_ranges(const ModelWeights& weights, const DataSource& source, int sequences) {
  const Batch batch = source.validation(sequences);
  std::vector<std::vector<int>> rows;
  for (int s = 0; s < batch.sequences; ++s) {
    const auto begin = batch.tokens.begin() + static_cast<std::ptrdiff_t>(s) * batch.length;
    rows.emplace_back(begin, begin + batch.length);
  }
  return measure_ranges(weights, rows);
}

}  // namespace psm
