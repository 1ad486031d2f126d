#include "train/recipe.h"

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
  CHECK(models.power_softmax.config.form == PowerForm::kStable);
  CHECK(models.final_model.config.form == PowerForm::kLengthAgnostic);
  CHECK(models.final_model.config.epsilon == options.inference_epsilon);
  const Batch test = task.test(500, 1);
  CHECK(evaluate(models.power_softmax, test).accuracy() >= 0.95);
  CHECK(evaluate(models.final_model, test).accuracy() >= 0.95);

  // Narrower than the same weights before the range losses, in the same form.
  ModelWeights before = models.power_softmax;
  before.config.form = PowerForm::kLengthAgnostic, before.config.epsilon = options.inference_epsilon;
  const Ranges wide = measure_ranges(before, task, 200);
  for (int n = 0; n < 2; ++n) {
    const Interval &narrow = models.ranges.layers[n].denominator, &was = wide.layers[n].denominator;
    CHECK(narrow.lo >= options.inference_epsilon);
    CHECK(narrow.hi / narrow.lo < was.hi / was.lo);
  }
}

}  // namespace
}  // namespace psm
