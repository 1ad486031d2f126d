#include "train/recipe.h"

#include <algorithm>

#include "attention/polynomial_model.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE(
    "the recipe brings a small recall task to the inference form with small ranges and no loss of accuracy") {
  const RecallTask task({3, 4, 2, 12});
  RecipeOptions options = recall_recipe(task, 1);
  options.model.width = 32, options.model.ffn = 64;
  options.training.batch = options.range_training.batch = 32;
  options.training.rate = {3e-3, 20, 600, 0.05};
  options.range_steps = 300;
  options.range_training.rate = {2e-3, 30, 300, 0.05};
  options.softmax_baseline = false;
  int reports = 0;
  const TrainedModels models = run_recipe(options, task, [&](const StageReport &) { ++reports; });
  CHECK(reports == 2);
  CHECK(models.softmax.layers.empty());
  CHECK(models.trained.config.form == PowerForm::kStable);
  CHECK(models.final_model.config.form == PowerForm::kLengthAgnostic);
  CHECK(models.final_model.config.epsilon == options.inference_epsilon);
  const Batch test = task.test(500, 1);
  CHECK(evaluate(models.trained, test).accuracy() >= 0.95);
  CHECK(evaluate(models.final_model, test).accuracy() >= 0.95);

  // Narrower than the same weights before the range losses, in the same form.
  ModelWeights before = models.trained;
  before.config.form = PowerForm::kLengthAgnostic, before.config.epsilon = options.inference_epsilon;
  const Ranges wide = measure_ranges(before, task, 200);
  for (int n = 0; n < 2; ++n) {
    const Interval &narrow = models.ranges.layers[n].denominator, &was = wide.layers[n].denominator;
    CHECK(narrow.lo >= options.inference_epsilon);
    CHECK(narrow.hi / narrow.lo < was.hi / was.lo);
  }
}

TEST_CASE("scaled ReLU goes through the recipe and becomes a polynomial that recalls as well") {
  const RecallTask task({3, 4, 2, 12});
  RecipeOptions options = recall_recipe(task, 1);
  options.model.attention = AttentionKind::kScaledRelu;
  options.model.width = 32, options.model.ffn = 64;
  options.training.batch = options.range_training.batch = 32;
  options.training.rate = {3e-3, 20, 600, 0.05};
  options.range_steps = 150;
  options.range_training.rate = {2e-3, 30, 150, 0.05};
  options.softmax_baseline = false;
  const TrainedModels models = run_recipe(options, task);
  REQUIRE(models.stages.size() == 2);
  CHECK(models.stages[0].name == "relu");
  CHECK(models.final_model.config.attention == AttentionKind::kScaledRelu);
  const Batch test = task.test(100, 1);
  CHECK(evaluate(models.final_model, test).accuracy() >= 0.9);
  const PolynomialModel polynomial = make_polynomial(models.final_model, models.ranges);
  std::size_t scored = 0, agree = 0;
  for (int s = 0; s < 20; ++s) {
    const std::span<const int> tokens(test.tokens.data() + static_cast<std::ptrdiff_t>(s) * test.length,
                                      static_cast<std::size_t>(test.length));
    const ForwardResult exact = reference_forward(models.final_model, tokens),
                        approximate = polynomial_forward(polynomial, tokens);
    const int vocab = models.final_model.config.vocab;
    for (int t = 0; t < test.length; ++t) {
      const auto best = [&](const ForwardResult& result) {
        const double* row = result.logits.data() + static_cast<std::ptrdiff_t>(t) * vocab;
        return std::max_element(row, row + vocab) - row;
      };
      ++scored;
      agree += best(exact) == best(approximate);
    }
  }
  CHECK(static_cast<double>(agree) >= 0.98 * static_cast<double>(scored));
}

}  // namespace
}  // namespace psm
