// Algorithm 1, step 2 (eq. PWRoss): what every non-polynomial function sees before and after range
// minimisation.
#include <algorithm>

#include "ckks/base/error.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 256;

struct RangeStage {
  const char* label;
  const char* name;
  train::RangeLosses (*losses)();
};
const RangeStage kRangeStages[] = {
    {"without range losses", "ranges-none", [] { return train::RangeLosses{}; }},
    {"the paper's losses", "ranges-paper", train::paper_range_losses},
    {"smooth losses", "ranges-smooth", train::text_range_losses}};

// What a layer's functions see with one seed, for the largest of the seeds'.
struct LayerFigures {
  double score = 0, lo = 0, hi = 0, denominator_ratio = 0, variance_ratio = 0, gelu_input = 0;

  void take(const attention::LayerRanges& layer) {
    score = std::max(score, layer.score);
    lo = lo == 0 ? layer.denominator.lo : std::min(lo, layer.denominator.lo);
    hi = std::max(hi, layer.denominator.hi);
    denominator_ratio = std::max(denominator_ratio, layer.denominator.hi / layer.denominator.lo);
    variance_ratio = std::max(variance_ratio, layer.variance.hi / layer.variance.lo);
    gelu_input = std::max(gelu_input, layer.gelu_input);
  }
};

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const Trainings power = text.power(4);
  const auto in_inference_form = [&](const char* label, bool scaled) {
    return follow_seeds(context, label, power, [&](const Trained& start, uint64_t) {
      Trained trained = start;
      trained.weights = text.inference_form(start.weights, scaled);
      return trained;
    });
  };
  std::vector<Trainings> variants = {in_inference_form("before", false),
                                     in_inference_form("scores scaled", true)};
  const size_t untrained = variants.size(), steps = text.range_steps();
  for (const RangeStage& stage : kRangeStages)
    variants.push_back(follow_seeds(context, stage.label, power, [&](const Trained& start, uint64_t seed) {
      return text.minimise_ranges(message(stage.name, "-s", seed), start.weights, stage.losses(), steps,
                                  seed);
    }));

  SvgPanel panel = TextStudy::curves("range minimisation", "characters seen");
  Table bits({"model", "bits a character"});
  Table table({"model", "layer", "largest |score|", "denominator from", "to", "ratio", "variance ratio",
               "largest |GELU input|"});
  for (size_t v = 0; v < variants.size(); ++v) {
    const Trainings& variant = variants[v];
    if (v >= untrained) panel.line(variant.label, mean_curve(variant, bits_per_token, /*from=*/0));
    bits.row({variant.label, final_text(variant, bits_per_token)});
    std::vector<LayerFigures> layers;
    for (const Trained& seed : variant.seeds) {
      if (!seed.diverged.empty()) continue;
      const attention::Ranges ranges =
          train::measure_ranges(seed.weights, text.data(), context.examples(kSequences));
      layers.resize(ranges.layers.size());
      for (size_t n = 0; n < layers.size(); ++n) layers[n].take(ranges.layers[n]);
    }
    for (size_t n = 0; n < layers.size(); ++n) {
      const LayerFigures& layer = layers[n];
      table.row({variant.label, std::to_string(n + 1), format("%.2f", layer.score), format("%.3g", layer.lo),
                 format("%.3g", layer.hi), format("%.3g", layer.denominator_ratio),
                 format("%.3g", layer.variance_ratio), format("%.2f", layer.gelu_input)});
    }
  }
  result.plot(panel);
  result.table(message("ranges on ", context.examples(kSequences),
                       " windows of the training text, in the form that runs encrypted; the largest of ",
                       context.options().seeds, " seeds"),
               table);
  result.table(message("held-out text; the first two in their training form, the others ", steps,
                       " steps later in the form that runs encrypted"),
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
              "The models p = 4 of `power`, and some hundred steps instead of 17,000 of Pythia's. The "
              "paper "
              "gives no ranges. Its losses move the peaks alone; the smooth ones beside them "
              "(train/stages/range_losses.h) act on every entry outside its interval.",
          .run = run};
}

}  // namespace psm::cmd
