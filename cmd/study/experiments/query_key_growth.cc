// W_q and W_k along training. An attention that does not change when scores are scaled (PowerSoftmax without
// an offset, but for epsilon) has no gradient along them, so every step lengthens them and their directions
// turn ever more slowly.
#include <algorithm>
#include <limits>

#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/text_study.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr int kLayers = 4, kWidth = 64, kHeads = 2;

struct Hold {
  const char* label;
  const char* name;
  train::QueryKeyHold hold;
};
const Hold kHolds[] = {{"as they grow", "free", {}},
                       {"decay 1 on them", "decay", {.decay = 1}},
                       {"their norms fixed", "fixed", {.fixed = true}}};

double perplexity(const train::Evaluation& evaluation) { return evaluation.perplexity(); }

// Mean over the seeds of a norm, to that of the initial weights, against the steps.
PlotPoints growth(const Trainings& trainings, const attention::ModelConfig& model, double CurvePoint::*norm) {
  PlotPoints points = {{0, 1}};
  size_t count = std::numeric_limits<size_t>::max();
  for (const Trained& seed : trainings.seeds) count = std::min(count, seed.curve.size());
  for (size_t i = 0; i < count; ++i) {
    double sum = 0;
    for (size_t seed = 0; seed < trainings.seeds.size(); ++seed) {
      const CurvePoint start =
          with_query_key_norms({}, attention::random_weights(model, weight_seed(seed + 1)));
      sum += trainings.seeds[seed].curve[i].*norm / (start.*norm);
    }
    points.emplace_back(static_cast<double>(trainings.first().curve[i].step),
                        sum / static_cast<double>(trainings.seeds.size()));
  }
  return points;
}

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  const std::vector<ComparedAttention> all = compared_attentions();
  const ComparedAttention attentions[] = {all[0], all[1], all[3]};
  const auto model_of = [&](const ComparedAttention& attention) {
    attention::ModelConfig model = attention.in(text.model(attention.kind, kLayers, kWidth));
    model.heads = kHeads;
    return model;
  };
  const size_t steps = context.steps(static_cast<double>(std::size(attentions) * std::size(kHolds)) *
                                     text.flops(model_of(attentions[0])));
  SvgPanel panels[2];
  panels[0].title = "W_q", panels[1].title = "W_k";
  for (SvgPanel& panel : panels) panel.x_label = "steps", panel.y_label = "Frobenius norm, to the first";
  Table table({"attention", "W_q and W_k", "perplexity", "to softmax as it grows", "to its own as it grows",
               "W_q at the end", "W_k at the end"});
  Trainings softmax;
  for (const ComparedAttention& attention : attentions) {
    const attention::ModelConfig model = model_of(attention);
    Trainings own;
    for (const Hold& hold : kHolds) {
      const Trainings trainings = train_seeds(context, attention.label, [&](uint64_t seed) {
        train::TrainerOptions options = text.training(steps, seed, /*fixed_offset=*/true);
        options.query_key_hold = hold.hold;
        return text.train(message("growth-", hold.name, "-", TextStudy::name_of(model), "-s", seed),
                          attention::random_weights(model, weight_seed(seed)), options);
      });
      if (own.seeds.empty()) own = trainings;
      if (softmax.seeds.empty()) softmax = trainings;
      const PlotPoints query = growth(trainings, model, &CurvePoint::query_norm),
                       key = growth(trainings, model, &CurvePoint::key_norm);
      const std::string line = message(attention.label, ", ", hold.label);
      panels[0].line(line, query), panels[1].line(line, key);
      table.row({attention.label, hold.label, final_text(trainings, perplexity),
                 paired_ratio_text(trainings, softmax, perplexity),
                 paired_ratio_text(trainings, own, perplexity), format("%.2f", query.back().second),
                 format("%.2f", key.back().second)});
    }
  }
  for (const SvgPanel& panel : panels) result.plot(panel);
  result.table(message("held-out text after ", steps, " steps of ", TextStudy::kBatch, " x ",
                       TextStudy::kContext, " characters, ", kLayers, " layers of d = ", kWidth,
                       ", heads of ", kWidth / kHeads, "; norms to those of the first weights"),
               table);
  result.note(
      "Fixed norms stand in for queries and keys that are normalised, which would cost two inverse square "
      "roots a head and token encrypted. A learned scale for each head beside fixed norms is what the norm "
      "of W_q "
      "is without them.");
}

}  // namespace

Experiment query_key_growth_experiment() {
  return {.name = "query-key-growth",
          .title = "How W_q and W_k grow, and what holding them does",
          .scaled_down =
              "Not in the paper; 4 layers of d = 64 with heads of 32 on characters of novels. AdamW's decay "
              "of all matrices is 0.01, the stronger one on W_q and W_k comes to it.",
          .run = run};
}

}  // namespace psm::cmd
