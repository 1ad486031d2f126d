// Algorithm 1, step 2 (eq. PWRoss): what every non-polynomial function sees before and after range
// minimisation.
#include <algorithm>

#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 256;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const Trainings power = text.power(4);
  if (!power.first().diverged.empty()) {
    result.note("The model to begin with diverged: " + power.first().diverged);
    return;
  }
  const attention::ModelWeights& start = power.first().weights;
  struct Variant {
    std::string label;
    Trained trained;
  };
  std::vector<Variant> variants;
  variants.push_back({"before", power.first()});
  variants.back().trained.weights = text.inference_form(start, /*scaled=*/false);
  variants.push_back({"scores scaled", power.first()});
  variants.back().trained.weights = text.inference_form(start);
  const size_t steps = text.range_steps();
  for (const RangeStage& stage : kRangeStages)
    variants.push_back({stage.label, text.minimise_ranges(stage.name, start, stage.losses(), steps, 1)});

  SvgPanel panel;
  panel.title = "range minimisation";
  panel.x_label = "characters seen";
  panel.y_label = "bits a character, held out";
  Table bits({"model", "bits a character"});
  Table table({"model", "layer", "largest |score|", "denominator from", "to", "ratio", "variance ratio",
               "largest |GELU input|"});
  for (const Variant& variant : variants) {
    const Trainings one{variant.label, {variant.trained}};
    if (variant.trained.steps == steps)
      panel.line(variant.label, mean_curve(one, bits_per_token, /*from=*/0));
    bits.row({variant.label, final_text(one, bits_per_token)});
    if (!variant.trained.diverged.empty()) continue;
    const attention::Ranges ranges =
        train::measure_ranges(variant.trained.weights, text.data(), context.examples(kSequences));
    for (size_t n = 0; n < ranges.layers.size(); ++n) {
      const attention::LayerRanges& layer = ranges.layers[n];
      table.row({variant.label, std::to_string(n + 1), format("%.2f", layer.score),
                 format("%.3g", layer.denominator.lo), format("%.3g", layer.denominator.hi),
                 format("%.3g", layer.denominator.hi / layer.denominator.lo),
                 format("%.3g", layer.variance.hi / layer.variance.lo), format("%.2f", layer.gelu_input)});
    }
  }
  result.plot(panel);
  result.table(message("ranges on ", context.examples(kSequences),
                       " windows of the training text, in the form that runs encrypted"),
               table);
  result.table(message("held-out text; the first in its training form, the others ", steps,
                       " steps later in the form that "
                       "runs encrypted"),
               bits);
  Table weights({"of the paper", "GPT 1.4B", "GPT 70M", "RoBERTa"});
  weights.row({"epsilon", "1e-4", "1e-3", "1e-4"});
  weights.row({"PowerSoftmax loss weight", "1e-4", "1e-4", "0.01"});
  weights.row({"GELU loss weight", "1e-3", "1e-4", "0"});
  weights.row({"learning rate", "4e-5", "1e-4", "1e-4"});
  result.table("Table pythia_params; `paper's losses` above are those of GPT 70M", weights);
}

}  // namespace

Experiment range_loss_experiment() {
  return {.name = "range-loss",
          .title = "Range minimisation: what each function sees, by layer",
          .scaled_down =
              "The model p = 4 of `power`, seed 1, and some hundred steps instead of 17,000 of Pythia's. The "
              "paper "
              "gives no ranges. Its losses move the peaks alone; the smooth ones beside them "
              "(train/stages/range_losses.h) act on every entry outside its interval.",
          .run = run};
}

}  // namespace psm::cmd
