// A score offset before the power: attention weights (s + c)^p in place of s^p.
#include <cmath>

#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 2, kWidth = 128, kHeads = 4;
constexpr int kPowers[] = {4, 6};
enum class Offset { kNone, kConstant, kLearned };
constexpr std::pair<const char*, Offset> kOffsets[] = {
    {"none", Offset::kNone}, {"c = p", Offset::kConstant}, {"learned, from p", Offset::kLearned}};

// The range of the first seed's offsets.
std::string offsets_text(const Trained& trained) {
  approx::Interval seen{INFINITY, -INFINITY};
  for (const attention::LayerWeights& layer : trained.weights.layers)
    for (const float c : layer.score_offset) seen = approx::hull(seen, {c, c});
  return seen.lo > seen.hi ? "" : format("%.2f to ", seen.lo) + format("%.2f", seen.hi);
}

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  attention::ModelConfig model = text.model(attention::AttentionKind::kSoftmax, kLayers, kWidth);
  model.heads = kHeads;
  const double a_step = text.flops(model);
  const size_t steps = context.steps((1 + 1.5 * std::size(kPowers) * std::size(kOffsets)) * a_step),
               range_steps = std::max<size_t>(4, steps / 2);
  const Trainings softmax = text.train("softmax", model, steps);
  Table table({"p", "offset c", "perplexity", "to softmax's", "c after training", "after range minimisation",
               "to softmax's", "max/min of a denominator"});
  const auto perplexity = [](const train::Evaluation& e) { return e.perplexity(); };
  const double reference = mean_final(softmax, perplexity);
  table.row({"softmax", "", final_text(softmax, perplexity), "1", "", "", "", ""});
  for (const int power : kPowers)
    for (const auto& [label, offset] : kOffsets) {
      attention::ModelConfig config = model;
      config.attention = attention::AttentionKind::kPowerSoftmax, config.power = power;
      config.score_offset = offset != Offset::kNone;
      const bool fixed = offset == Offset::kConstant;
      const Trainings trained = text.train(label, config, steps, fixed);
      const Trainings ranged =
          follow_seeds(context, label, trained, [&](const Trained& start, uint64_t seed) {
            const std::string name =
                message("offset-p", power, "-", static_cast<int>(offset), "-ranges-s", seed);
            return text.minimise_ranges(name, start.weights, train::text_range_losses(), range_steps, seed,
                                        fixed);
          });
      table.row({std::to_string(power), label, final_text(trained, perplexity),
                 format("%.4f", mean_final(trained, perplexity) / reference), offsets_text(trained.first()),
                 final_text(ranged, perplexity), format("%.4f", mean_final(ranged, perplexity) / reference),
                 text.spread_text(ranged)});
    }
  result.table(message("held-out text after ", steps, " steps of ", TextStudy::kBatch, " x ",
                       TextStudy::kContext, " characters, and ", range_steps, " of range minimisation; ",
                       kLayers, " layers of d = ", kWidth, ", heads of ", kWidth / kHeads),
               table);
  result.note("softmax is trained for the steps of the first stage alone.");
}

}  // namespace

Experiment score_offset_experiment() {
  return {.name = "score-offset",
          .title = "A score offset before the power",
          .scaled_down = "Not in the paper: (s + c)^p, of which c = 0 is the paper's form.",
          .run = run};
}

}  // namespace psm::cmd
