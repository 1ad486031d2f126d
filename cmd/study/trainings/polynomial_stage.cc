#include "cmd/study/trainings/polynomial_stage.h"

#include <algorithm>

#include "attention/batched/measure.h"
#include "attention/reference/polynomial_model.h"
#include "cmd/training/training_run.h"
#include "train/stages/recipe.h"
#include "train/stages/score_scale.h"

namespace psm::cmd {
namespace {

Json measure(const StudyContext& context, const TextStudy& text, attention::ModelWeights weights,
             std::optional<double> margin) {
  const train::RecipeOptions recipe;
  const auto ranges_of = [&](const attention::ModelWeights& model) {
    return train::measure_ranges(model, text.data(), context.examples(recipe.range_sequences()));
  };
  attention::Ranges ranges = ranges_of(weights);
  while (train::bound_denominators(weights, ranges, recipe.largest_ratio)) ranges = ranges_of(weights);
  const attention::PolynomialModel model = attention::make_polynomial(weights, ranges, {.margin = margin});
  const train::Batch held_out = text.data().validation(context.examples(kFinalSequences));
  Json measured = evaluation_json(train::evaluate_polynomial(model, held_out));
  double spread = 0;
  for (const attention::LayerRanges& layer : ranges.layers)
    spread = std::max(spread, layer.denominator.hi / layer.denominator.lo);
  int64_t values = 0, outside = 0;
  for (const attention::RangeUse& use : attention::count_range_leaves(model, held_out.examples()))
    values += use.values, outside += use.outside;
  measured["spread"] = spread, measured["values"] = values, measured["outside"] = outside;
  return measured;
}

}  // namespace

PolynomialStage polynomial_stage(StudyContext& context, const TextStudy& text, const std::string& part,
                                 const attention::ModelWeights& ranged, std::optional<double> margin) {
  const Json found = context.once(part, [&] { return measure(context, text, ranged, margin); });
  return {evaluation_from(found, part), found.at("spread", part).number(part),
          found.at("values", part).integer(part, 0, INT64_MAX),
          found.at("outside", part).integer(part, 0, INT64_MAX)};
}

}  // namespace psm::cmd
