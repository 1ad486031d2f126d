#include "train/stages/recipe.h"

#include <algorithm>
#include <cmath>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/model.h"
#include "ckks/base/testing/check.h"
#include "train/stages/score_scale.h"

namespace psm::train {
namespace {

const RecallTask kTask({3, 4, 2, 12});

TEST_CASE(
    "the recipe brings a small recall task to the inference form with small ranges and no loss of accuracy") {
  RecipeOptions options = recall_recipe(kTask, 1);
  options.model.width = 32, options.model.ffn = 64;
  options.training.batch = options.range_training.batch = 32;
  options.training.rate = {3e-3, 20, 600, 0.05};
  options.range_steps = 300;
  options.range_training.rate = {2e-3, 30, 300, 0.05};
  int reports = 0;
  options.report = [&](const StageReport&) { ++reports; };
  const TrainedModels models = run_recipe(options, kTask);
  CHECK(reports == 3);
  CHECK(models.softmax.config.attention == attention::AttentionKind::kSoftmax);
  CHECK(models.trained.config.form == attention::PowerForm::kStable);
  CHECK(models.final_model.config.form == attention::PowerForm::kLengthAgnostic);
  CHECK(models.final_model.config.epsilon == options.inference_epsilon);
  const Batch test = kTask.test(500, 1);
  CHECK(evaluate(models.softmax, test).accuracy() >= 0.95);
  CHECK(evaluate(models.trained, test).accuracy() >= 0.95);
  CHECK(evaluate(models.final_model, test).accuracy() >= 0.95);

  // Narrower than the same weights before the range losses, in the same form.
  attention::ModelWeights before = models.trained;
  before.config.form = attention::PowerForm::kLengthAgnostic,
  before.config.epsilon = options.inference_epsilon;
  const attention::Ranges wide = measure_ranges(before, kTask, 200);
  for (int n = 0; n < 2; ++n) {
    const approx::Interval &narrow = models.ranges.layers[n].denominator, &was = wide.layers[n].denominator;
    CHECK(narrow.lo >= options.inference_epsilon);
    CHECK(narrow.hi / narrow.lo < was.hi / was.lo);
  }
}

TEST_CASE("ranges are measured on as many examples as stage 3 reads, 512 at least and 2048 at most") {
  RecipeOptions options;
  options.range_training.batch = 32;
  for (auto [steps, examples] :
       {std::pair<size_t, int>{0, 512}, {8, 512}, {24, 768}, {64, 2048}, {100000, 2048}}) {
    options.range_steps = steps;
    CHECK(options.range_sequences() == examples);
  }
}

TEST_CASE("score offsets begin with p and are learned, or stay what they were set to") {
  RecipeOptions options = recall_recipe(kTask, 1);
  options.model.width = 16, options.model.heads = 2, options.model.ffn = 16;
  options.model.power = 6, options.model.score_offset = true;
  set_steps(options, 4, 2);
  const TrainedModels learned = run_recipe(options, kTask);
  CHECK_FALSE(learned.softmax.config.score_offset);
  for (const float c : learned.trained.layers[1].score_offset) {
    CHECK(c == doctest::Approx(6).epsilon(0.05));
    CHECK(c != 6);
  }
  options.constant_score_offset = 2.5;
  const TrainedModels constant = run_recipe(options, kTask);
  CHECK(constant.trained.layers[1].score_offset == std::vector<float>{2.5f, 2.5f});
  const TrainedModels continued = run_recipe(options, kTask, &learned.softmax);
  CHECK(continued.replaced.layers[0].score_offset == std::vector<float>{2.5f, 2.5f});
  CHECK(continued.trained.layers[0].score_offset == std::vector<float>{2.5f, 2.5f});
  follow_paper(options);
  CHECK_FALSE(options.model.score_offset);
}

TEST_CASE("the paper's recipe trains the stable form to the end, and leaves c out after it") {
  RecipeOptions options = recall_recipe(kTask, 1);
  follow_paper(options);
  options.model.width = 16, options.model.heads = 1, options.model.ffn = 16;
  set_steps(options, 4, 0);
  const TrainedModels models = run_recipe(options, kTask);
  CHECK(models.trained.config.form == attention::PowerForm::kStable);
  CHECK(models.trained.config.epsilon == 1e-3);
  CHECK(models.final_model.config.form == attention::PowerForm::kLengthAgnostic);
  CHECK(models.final_model.config.epsilon == 1e-3);
  CHECK(models.final_model.layers[0].wq == models.trained.layers[0].wq);  // scores keep their scale
  set_steps(options, 4, 1);
  const TrainedModels stable = run_recipe(options, kTask);
  options.ranges_in_training_form = false;
  CHECK(run_recipe(options, kTask).final_model.layers[0].wq != stable.final_model.layers[0].wq);
  // What stage 3 evaluated was the form of stage 2.
  const RangeLosses& losses = options.range_training.ranges;
  CHECK(losses.score_peak > 0);
  CHECK(losses.denominator_excess + losses.score_excess + losses.variance_width + losses.residual_excess ==
        0);
}

TEST_CASE("scaled ReLU goes through the recipe and becomes a polynomial that recalls as well") {
  RecipeOptions options = recall_recipe(kTask, 1);
  options.model.attention = attention::AttentionKind::kScaledRelu;
  options.model.width = 32, options.model.ffn = 64;
  options.training.batch = options.range_training.batch = 32;
  options.training.rate = {3e-3, 20, 600, 0.05};
  options.range_steps = 150;
  options.range_training.rate = {2e-3, 30, 150, 0.05};
  const TrainedModels models = run_recipe(options, kTask);
  REQUIRE(models.stages.size() == 3);
  CHECK(models.stages[1].name == "relu");
  CHECK(models.final_model.config.attention == attention::AttentionKind::kScaledRelu);
  const Batch test = kTask.test(100, 1);
  CHECK(evaluate(models.final_model, test).accuracy() >= 0.9);
  const attention::PolynomialModel polynomial = attention::make_polynomial(models.final_model, models.ranges);
  size_t scored = 0, agree = 0;
  for (int s = 0; s < 20; ++s) {
    const std::span<const int> tokens(test.tokens.data() + static_cast<std::ptrdiff_t>(s) * test.length,
                                      static_cast<size_t>(test.length));
    const attention::ForwardResult exact = attention::reference_forward(models.final_model, tokens),
                                   approximate = attention::polynomial_forward(polynomial, tokens);
    const int vocab = models.final_model.config.vocab;
    for (int t = 0; t < test.length; ++t) {
      const auto best = [&](const attention::ForwardResult& result) {
        const double* row = result.logits.data() + static_cast<std::ptrdiff_t>(t) * vocab;
        return std::max_element(row, row + vocab) - row;
      };
      ++scored;
      agree += best(exact) == best(approximate);
    }
  }
  CHECK(static_cast<double>(agree) >= 0.98 * static_cast<double>(scored));
}

TEST_CASE(
    "continual training takes softmax's weights and ends in the inference form; a PowerSoftmax model enters "
    "at the ranges") {
  RecipeOptions options = recall_recipe(kTask, 1);
  options.training.batch = options.range_training.batch = 8;
  set_steps(options, 6, 4);
  CHECK(options.training.rate.total == 6);
  CHECK(options.range_training.rate.total == 4);
  attention::ModelConfig shape = options.model;
  shape.layers = 1, shape.width = 16, shape.ffn = 16, shape.attention = attention::AttentionKind::kSoftmax;
  const attention::ModelWeights start = attention::random_weights(shape, 3);
  std::vector<std::string> names;
  std::vector<size_t> tokens;
  options.report = [&](const StageReport& stage) {
    names.push_back(stage.name), tokens.push_back(stage.tokens);
  };
  const TrainedModels from_softmax = run_recipe(options, kTask, &start);
  CHECK(names == std::vector<std::string>{"softmax", "replaced", "power_softmax", "ranges"});
  CHECK(tokens == std::vector<size_t>{0, 0, 6 * 8 * 12, 4 * 8 * 12});
  CHECK(attention::flatten(from_softmax.softmax) == attention::flatten(start));
  CHECK(attention::flatten(from_softmax.replaced) == attention::flatten(start));
  CHECK(from_softmax.replaced.config.attention == attention::AttentionKind::kPowerSoftmax);
  CHECK(from_softmax.trained.config.form == attention::PowerForm::kStable);
  CHECK(from_softmax.trained.config.width == 16);
  CHECK(attention::flatten(from_softmax.trained) != attention::flatten(start));
  CHECK(from_softmax.final_model.config.form == attention::PowerForm::kLengthAgnostic);

  names.clear();
  const TrainedModels from_power = run_recipe(options, kTask, &from_softmax.trained);
  CHECK(names == std::vector<std::string>{"power_softmax", "ranges"});
  CHECK(from_power.softmax.layers.empty());
  CHECK(attention::flatten(from_power.final_model) == attention::flatten(from_softmax.final_model));

  attention::ModelWeights far = from_softmax.trained;
  for (float& w : far.layers[0].wq) w *= 1e15f;
  CHECK_REFUSED(run_recipe(options, kTask, &far), "beyond single precision");

  names.clear();
  options.trains_on = true;
  const TrainedModels on = run_recipe(options, kTask, &from_softmax.trained);
  CHECK(names == std::vector<std::string>{"power_softmax", "ranges"});
  CHECK(tokens.back() == 4 * 8 * 12);
  CHECK(tokens[tokens.size() - 2] == 6 * 8 * 12);
  CHECK(attention::flatten(on.trained) != attention::flatten(from_softmax.trained));

  options.model.attention = attention::AttentionKind::kScaledRelu;
  CHECK_REFUSED(run_recipe(options, kTask, &from_softmax.trained), "cannot be continued with relu");
}

attention::ModelWeights model() {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.form = attention::PowerForm::kPlain;
  attention::ModelWeights weights = attention::random_weights(config, 3);
  for (float& w : weights.layers[1].wq) w *= 20;  // far from where it should be
  return weights;
}

TEST_CASE("every head's denominators get the geometric mean that is asked for") {
  const Batch examples = kTask.test(8, 1);
  const attention::ModelWeights scaled = with_score_scale(model(), examples, 2.5);
  std::vector<double> logs(4);
  std::vector<int> rows(4);
  int head = 0;
  const auto observe = [&](attention::Site site, int layer, int, std::span<const double> scores) {
    if (site == attention::Site::kResidual) head = 0;
    if (site != attention::Site::kScores) return;
    double d = 0;
    for (double s : scores) d += std::pow(s, 4) / static_cast<double>(scores.size());
    // The reference takes all rows of one head before the next.
    const int which = 2 * layer + head++ / examples.length;
    logs[which] += std::log(d), ++rows[which];
  };
  for (int s = 0; s < examples.sequences; ++s)
    attention::reference_forward(
        scaled, std::span(examples.tokens).subspan(s * examples.length, examples.length), {}, observe);
  for (int h = 0; h < 4; ++h) {
    CAPTURE(h);
    REQUIRE(rows[h] == examples.sequences * examples.length);
    CHECK(std::exp(logs[h] / rows[h]) == doctest::Approx(2.5).epsilon(1e-3));
  }
}

TEST_CASE("rows of texts that are filled up have their own tokens as keys, and a model may have no biases") {
  attention::ModelConfig config = attention::preset("roberta");
  config.vocab = 9, config.context = 12, config.classes = 2;
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.biases = false;
  const attention::ModelWeights weights = attention::random_weights(config, 3);
  Batch alone, filled;
  alone.sequences = filled.sequences = 2, alone.length = 4, filled.length = 6;
  alone.tokens = {1, 2, 3, 4, 4, 7, 6, 5};
  for (const std::vector<int>& text : alone.texts()) {
    filled.tokens.insert(filled.tokens.end(), text.begin(), text.end());
    filled.tokens.insert(filled.tokens.end(), {8, 8});
    filled.lengths.push_back(4);
  }
  const attention::ModelWeights a = with_score_scale(weights, alone, 2.5),
                                b = with_score_scale(weights, filled, 2.5);
  CHECK(a.layers[1].wq != weights.layers[1].wq);
  float worst = 0;
  for (size_t i = 0; i < a.layers[1].wq.size(); ++i)
    worst = worse(worst, std::abs(b.layers[1].wq[i] - a.layers[1].wq[i]));
  CHECK(worst < 1e-5f);
}

TEST_CASE("plain PowerSoftmax gives the same logits at every scale") {
  const Batch examples = kTask.test(4, 1);
  for (const bool offset : {false, true}) {
    attention::ModelWeights weights = model();
    weights.config.score_offset = offset;
    if (offset)
      for (attention::LayerWeights& layer : weights.layers) layer.score_offset = {4, 1};
    const attention::ModelWeights scaled = with_score_scale(weights, examples, 0.01);
    const std::span tokens = std::span(examples.tokens).first(examples.length);
    const attention::ForwardResult a = attention::reference_forward(weights, tokens),
                                   b = attention::reference_forward(scaled, tokens);
    CHECK(scaled.layers[1].wq != weights.layers[1].wq);
    for (size_t i = 0; i < a.logits.size(); ++i)
      CHECK(b.logits[i] == doctest::Approx(a.logits[i]).epsilon(1e-4));
  }
}

TEST_CASE("a head without scores is left alone") {
  attention::ModelWeights weights = model();
  std::fill(weights.layers[0].wq.begin(), weights.layers[0].wq.end(), 0.0f);
  std::fill(weights.layers[0].bq.begin(), weights.layers[0].bq.end(), 0.0f);
  const attention::ModelWeights scaled = with_score_scale(weights, kTask.test(4, 1), 1);
  CHECK(scaled.layers[0].wq == weights.layers[0].wq);
}

TEST_CASE("denominators that span too much are brought to the bound, the others left") {
  const Batch examples = kTask.test(8, 1);
  attention::ModelWeights weights = model();
  weights.config.form = attention::PowerForm::kLengthAgnostic;
  weights.config.epsilon = 0.01;
  const attention::Ranges before = attention::measure_ranges(weights, examples.examples());
  const auto ratio = [](const attention::Ranges& ranges, int layer) {
    return ranges.layers[layer].denominator.hi / ranges.layers[layer].denominator.lo;
  };
  REQUIRE(ratio(before, 1) > 4 * ratio(before, 0));
  const double bound = 2 * ratio(before, 0);
  attention::ModelWeights bounded = weights;
  CHECK(bound_denominators(bounded, before, bound));
  const attention::Ranges after = attention::measure_ranges(bounded, examples.examples());
  CHECK(bounded.layers[0].wq == weights.layers[0].wq);
  CHECK(ratio(after, 0) == ratio(before, 0));
  // Layer 1 reads what layer 0 left, which has not changed.
  CHECK(ratio(after, 1) == doctest::Approx(0.99 * bound).epsilon(1e-4));
  CHECK(!bound_denominators(bounded, after, bound));
}

TEST_CASE("large post-norm models take lower learning rates") {
  attention::ModelConfig config{.layers = 4, .width = 256};
  CHECK(rate_factor(config) == 1);
  config.block = attention::BlockKind::kPostNorm;
  CHECK(rate_factor(config) == 0.25);
  config.layers = 2, config.width = 64;
  CHECK(rate_factor(config) == 1);
}

}  // namespace
}  // namespace psm::train
