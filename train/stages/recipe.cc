#include "train/stages/recipe.h"

#include "ckks/base/error.h"
#include "train/stages/score_scale.h"

namespace psm::train {
namespace {

// Seeds of the parts of a run, all from one.
enum : uint64_t { kInitialWeights, kTrainingData, kRangeData, kScaleData };

constexpr uint64_t kMeasuredSeed = 20241012;  // seed of the examples on which ranges are measured
constexpr int kScaleSequences = 64;           // on which scores get their scale
// Bounding one layer's denominators moves those of later layers a little, and its margin mostly covers that.
constexpr int kBoundRounds = 4;

uint64_t derived_seed(uint64_t seed, uint64_t part) { return TrainingRandom(seed).split(part).state(); }

Batch training_examples(const DataSource& source, int sequences, uint64_t seed) {
  TrainingRandom random(seed);
  return source.draw(sequences, random);
}

class Recipe {
 public:
  Recipe(const RecipeOptions& options, const DataSource& source) : options_(options), source_(source) {}

  TrainedModels models;  // so far

  // Stage 1 or 2, named after the attention.
  attention::ModelWeights train(const attention::ModelWeights& initial) {
    return run(std::string(attention::name_of(initial.config.attention)), initial, options_.training,
               kTrainingData, options_.steps, options_.stop_accuracy);
  }

  // Stage 3 and what is left of the models, which it returns.
  TrainedModels minimise_ranges() {
    const auto in_inference_form = [&](attention::ModelWeights weights) {
      weights.config.form = attention::PowerForm::kLengthAgnostic;
      weights.config.epsilon = options_.inference_epsilon;
      return weights;
    };
    const bool again = models.trained.config.form == attention::PowerForm::kLengthAgnostic;
    attention::ModelWeights start = in_inference_form(models.trained);
    const bool power_softmax = start.config.attention == attention::AttentionKind::kPowerSoftmax;
    // Before the ranges are measured, because it says which scores are beyond single precision.
    std::optional<attention::ModelWeights> scaled;
    if (power_softmax && !again && options_.mean_denominator > 0)
      scaled = with_score_scale(
          start, training_examples(source_, kScaleSequences, derived_seed(options_.seed, kScaleData)),
          options_.mean_denominator);
    models.ranges_before = measure_ranges(start, source_, options_.range_sequences());
    if (scaled) start = *std::move(scaled);
    if (options_.ranges_in_training_form) {
      start.config.form = attention::PowerForm::kStable;
      start.config.epsilon = options_.training_epsilon;
    }
    models.final_model = in_inference_form(run("ranges", start, options_.range_training, kRangeData,
                                               options_.range_steps, /*stop_accuracy=*/1.1));
    models.ranges = measure_ranges(models.final_model, source_, options_.range_sequences());
    if (power_softmax && options_.largest_ratio > 0)
      for (int round = 0; round < kBoundRounds &&
                          bound_denominators(models.final_model, models.ranges, options_.largest_ratio);
           ++round)
        models.ranges = measure_ranges(models.final_model, source_, options_.range_sequences());
    return std::move(models);
  }

  // A stage without training.
  void evaluate_only(const std::string& name, const attention::ModelWeights& weights) {
    add({.name = name,
         .validation = evaluate(weights, source_.validation(LoopOptions{}.validation_sequences))});
  }

 private:
  attention::ModelWeights run(const std::string& name, const attention::ModelWeights& initial,
                              TrainerOptions training, uint64_t data_seed, size_t steps,
                              double stop_accuracy) {
    training.seed = derived_seed(options_.seed, data_seed);
    training.fixed_score_offset = options_.constant_score_offset.has_value();
    training.rate.peak *= rate_factor(initial.config);
    LoopOptions loop;
    loop.name = name;
    loop.steps = steps;
    loop.stop_accuracy = stop_accuracy;
    loop.evaluate_every = options_.evaluate_every;
    if (!options_.state_folder.empty()) loop.state_file = state_file(options_.state_folder, name);
    loop.started = options_.started;
    LoopResult result = run_training(initial, source_, training, loop);
    add(result);
    return std::move(result.weights);
  }

  void add(const StageReport& stage) {
    models.stages.push_back(stage);
    if (options_.report) options_.report(stage);
  }

  const RecipeOptions& options_;
  const DataSource& source_;
};

// Puts the constant in place of the score offsets, if there is one.
attention::ModelWeights with_constant_offset(attention::ModelWeights weights, const RecipeOptions& options) {
  if (options.constant_score_offset)
    for (attention::LayerWeights& layer : weights.layers)
      layer.score_offset.assign(layer.score_offset.size(),
                                static_cast<float>(*options.constant_score_offset));
  return weights;
}

// What texts and classifiers take: (s + p)^p, trained to the end, with the losses of texts.
void take_text_defaults(RecipeOptions& options) {
  options.model.power = kPower;
  options.model.score_offset = true;
  options.constant_score_offset = kPower;
  options.stop_accuracy = 1.1;
  options.evaluate_every = 100;
  options.range_training.ranges = text_range_losses();
}

// What the tasks' recipes share: the rates.
RecipeOptions recipe_of(const attention::ModelConfig& model, int batch, size_t steps, size_t range_steps,
                        uint64_t seed) {
  RecipeOptions options;
  options.model = model;
  options.seed = seed;
  options.training.batch = options.range_training.batch = batch;
  options.training.rate = {.peak = 3e-3, .warmup = 100, .floor = 0.05};
  options.range_training.rate = {.peak = 2e-3, .warmup = 50, .floor = 0.05};
  set_steps(options, steps, range_steps);
  return options;
}

}  // namespace

RecipeOptions recall_recipe(const RecallTask& task, uint64_t seed) {
  const RecipeOptions defaults;
  attention::ModelConfig model{.vocab = task.vocab(), .context = task.context(), .layers = 2, .width = 64};
  model.heads = 2, model.ffn = 128, model.rotary_fraction = 0.5, model.rotary_base = 20;
  RecipeOptions options = recipe_of(model, /*batch=*/64, defaults.steps, defaults.range_steps, seed);
  options.range_training.ranges = default_range_losses();
  return options;
}

RecipeOptions text_recipe(const DataSource& data, size_t steps, uint64_t seed) {
  attention::ModelConfig model{.vocab = data.vocab(), .context = data.context(), .layers = 2, .width = 128};
  model.heads = 4, model.ffn = 512, model.rotary_fraction = 0.5, model.rotary_base = 100;
  RecipeOptions options = recipe_of(model, /*batch=*/32, steps, steps / 2, seed);
  options.mean_denominator = 4;
  take_text_defaults(options);
  return options;
}

RecipeOptions classifier_recipe(const DataSource& data, size_t steps, uint64_t seed) {
  attention::ModelConfig model = attention::preset(data.patch_inputs() > 0 ? "vit" : "roberta");
  model.vocab = data.vocab(), model.context = data.context();
  model.classes = data.classes(), model.patch_inputs = data.patch_inputs();
  model.layers = 2, model.width = 64, model.heads = 4, model.ffn = 128;
  RecipeOptions options = recipe_of(model, /*batch=*/32, steps, steps / 2, seed);
  options.table_scale = kEncoderTables;
  take_text_defaults(options);
  return options;
}

attention::ModelWeights fresh_weights(const attention::ModelConfig& config, uint64_t seed,
                                      double table_scale) {
  attention::ModelWeights weights = attention::random_weights(config, seed);
  const bool two_texts = config.separator > 0;
  const double places = two_texts ? kPlaceTables * table_scale : table_scale;
  for (const auto& [table, factor] :
       {std::pair{&weights.embedding, table_scale}, std::pair{&weights.class_token, table_scale},
        std::pair{&weights.position_embedding, places}, std::pair{&weights.type_embedding, places}})
    for (float& entry : *table) entry *= static_cast<float>(factor);
  // A head of keys is the first one of the queries that read it.
  const size_t head = static_cast<size_t>(config.head_dim()) * static_cast<size_t>(config.width),
               heads = two_texts ? static_cast<size_t>(config.key_heads()) : 0;
  for (attention::LayerWeights& layer : weights.layers)
    for (size_t k = 0; k < heads; ++k) {
      const size_t query = k * (static_cast<size_t>(config.heads) / heads);
      std::copy_n(&layer.wq[query * head], head, &layer.wk[k * head]);
    }
  return weights;
}

std::string state_file(const std::string& folder, const std::string& stage) {
  return folder + "/" + stage + ".training";
}

double rate_factor(const attention::ModelConfig& config) {
  constexpr double kFullRate = 256;
  return config.block == attention::BlockKind::kPostNorm
             ? std::min(1.0, kFullRate / config.layers / config.width)
             : 1;
}

void set_steps(RecipeOptions& options, size_t steps, size_t range_steps) {
  options.steps = options.training.rate.total = steps;
  options.range_steps = options.range_training.rate.total = range_steps;
}

void follow_paper(RecipeOptions& options) {
  options.training_epsilon = options.inference_epsilon = 1e-3;
  options.range_training.ranges = paper_range_losses();
  options.ranges_in_training_form = true;
  options.model.power = 4;
  options.model.score_offset = false;
  options.constant_score_offset = {};
  options.mean_denominator = options.largest_ratio = 0;
}

attention::ModelWeights with_attention(attention::ModelWeights weights, attention::AttentionKind attention,
                                       int power, double epsilon, bool score_offset) {
  weights.config.attention = attention;
  weights.config.form = attention::PowerForm::kStable;
  weights.config.power = power;
  weights.config.epsilon = epsilon;
  weights.config.score_offset = score_offset;
  if (weights.config.has_score_offset())
    for (attention::LayerWeights& layer : weights.layers)
      layer.score_offset.assign(static_cast<size_t>(weights.config.heads), static_cast<float>(power));
  return weights;
}

void require_continuable(const attention::ModelConfig& start, const attention::ModelConfig& wanted) {
  if (start.attention != attention::AttentionKind::kSoftmax && start.attention != wanted.attention)
    throw Error(message("a model with attention ", attention::name_of(start.attention),
                        " cannot be continued with ", attention::name_of(wanted.attention),
                        "; begin with a softmax model or with one of ",
                        attention::name_of(wanted.attention)));
}

TrainedModels run_recipe(const RecipeOptions& options, const DataSource& source,
                         const attention::ModelWeights* start) {
  Recipe recipe(options, source);
  TrainedModels& models = recipe.models;
  const attention::AttentionKind attention = options.model.attention;
  if (start == nullptr) {
    attention::ModelConfig config = options.model;
    config.epsilon = options.training_epsilon;
    config.form = attention::PowerForm::kStable;
    const auto fresh = [&] {
      return fresh_weights(config, derived_seed(options.seed, kInitialWeights), options.table_scale);
    };
    if (attention != attention::AttentionKind::kSoftmax) {
      config.attention = attention::AttentionKind::kSoftmax;
      config.score_offset = false;
      models.softmax = recipe.train(fresh());
    }
    config.attention = attention;
    config.score_offset = options.model.score_offset;
    models.trained = recipe.train(with_constant_offset(fresh(), options));
    return recipe.minimise_ranges();
  }
  require_continuable(start->config, options.model);
  if (start->config.attention == attention && options.trains_on) {
    models.trained = recipe.train(*start);
  } else if (start->config.attention == attention) {
    models.trained = *start;
    recipe.evaluate_only(std::string(attention::name_of(attention)), *start);
  } else {
    models.softmax = *start;
    recipe.evaluate_only("softmax", *start);
    models.replaced =
        with_constant_offset(with_attention(*start, attention, options.model.power, options.training_epsilon,
                                            options.model.score_offset),
                             options);
    recipe.evaluate_only("replaced", models.replaced);
    models.trained = recipe.train(models.replaced);
  }
  return recipe.minimise_ranges();
}

attention::Ranges measure_ranges(const attention::ModelWeights& weights, const DataSource& source,
                                 int sequences) {
  const Batch batch = training_examples(source, sequences, kMeasuredSeed);
  return attention::measure_ranges(weights, batch.examples());
}

}  // namespace psm::train
