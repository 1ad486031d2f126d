// Algorithm 1 from end to end: every stage of the recipe in one table.
#include <algorithm>

#include "attention/batched/measure.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/base/error.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/training/training_run.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 128;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const Trained softmax = text.softmax().first(), power = text.power(4).first();
  const RangeStage& smooth = kRangeStages[2];
  Trained ranged;
  if (power.diverged.empty())
    ranged = text.minimise_ranges(message(smooth.name, "-s", 1), power.weights, smooth.losses(),
                                  text.range_steps(), 1);
  for (const Trained* trained : {&softmax, &power, &std::as_const(ranged)})
    if (!trained->diverged.empty()) {
      result.note("A stage diverged: " + trained->diverged);
      return;
    }
  const train::Batch held_out = text.data().validation(context.examples(kSequences));
  const attention::PolynomialModel polynomial = attention::make_polynomial(
      ranged.weights, train::measure_ranges(ranged.weights, text.data(),
                                            context.examples(train::RecipeOptions{}.range_sequences())));

  Table table({"stage", "steps", "bits a character", "perplexity", "of softmax's", "next character right"});
  double reference = 0;
  const auto row = [&](const std::string& stage, const std::string& steps, const train::Evaluation& e) {
    if (reference == 0) reference = e.perplexity();
    table.row({stage, steps, format("%.3f", bits_per_token(e)), format("%.3f", e.perplexity()),
               format("%.3f", e.perplexity() / reference), percent(e.accuracy())});
  };
  const std::string before = std::to_string(power.steps),
                    more = before + " + " + std::to_string(ranged.steps);
  row("softmax", std::to_string(softmax.steps), train::evaluate(softmax.weights, held_out));
  row("PowerSoftmax, stable form", before, train::evaluate(power.weights, held_out));
  row("the same weights in the encrypted form", before,
      train::evaluate(text.inference_form(power.weights), held_out));
  row("after range minimisation", more, train::evaluate(ranged.weights, held_out));
  row("polynomial", more,
      evaluation_from(
          context.once("polynomial",
                       [&] { return evaluation_json(train::evaluate_polynomial(polynomial, held_out)); }),
          "the polynomial model"));
  result.table(message("on ", held_out.scored(), " held-out characters"), table);

  Table uses({"layer", "function", "from", "to", "levels", "values outside"});
  for (const attention::RangeUse& use : attention::count_range_leaves(polynomial, held_out.examples())) {
    if (use.values == 0) continue;  // the first norm is the client's
    const attention::LayerApproximations& layer = polynomial.layers[use.layer];
    const int levels = use.function == "gelu"               ? layer.gelu.depth()
                       : use.function == "1/sqrt(variance)" ? layer.inverse_sqrt.depth()
                                                            : layer.inverse().depth();
    uses.row({std::to_string(use.layer + 1), use.function, format("%.3g", use.interval.lo),
              format("%.3g", use.interval.hi), std::to_string(levels),
              message(use.outside, " of ", use.values)});
  }
  result.table("the polynomials on held-out text", uses);
  result.note(
      "The polynomial model is evaluated in the clear; slot programs compute the same to within their "
      "noise "
      "(attention/encrypted_model_test), so this is what the server would answer. In the paper, encryption "
      "changes the "
      "predicted token in 1% of 100 samples; its tables of polynomial models are in the experiments `tasks` "
      "and `sentences`.");
}

}  // namespace

Experiment recipe_experiment() {
  return {.name = "recipe",
          .title = "Every stage of the recipe",
          .scaled_down =
              "The models of `power` and `range-loss` (4 layers of d = 64, characters, seed 1) instead of "
              "Pythia 70M "
              "and 1.4B on the Pile.",
          .run = run};
}

}  // namespace psm::cmd
