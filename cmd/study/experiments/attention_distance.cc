// Fig. AttnMeanDistance: the mean attention distance by layer and p.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/attention_maps.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 256;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  std::vector<Trainings> models;
  for (const int p : TextStudy::kPowers) models.push_back(text.power(p));
  models.push_back(text.softmax());
  const train::Batch batch = text.data().validation(context.examples(kSequences));

  SvgPanel panel;
  panel.title = "by layer";
  panel.x_label = "layer, counted from 1";
  panel.y_label = "mean attention distance, characters";
  std::vector<std::string> heading = {"model"};
  for (int n = 1; n <= TextStudy::kFamilyLayers; ++n) heading.push_back("layer " + std::to_string(n));
  heading.push_back("mean");
  Table table(heading);
  for (const Trainings& model : models) {
    const Json distances = context.once(model.label, [&] {
      std::vector<double> sums;
      for (const Trained& seed : model.seeds) {
        if (!seed.diverged.empty()) continue;
        const std::vector<LayerAttention> layers = measure_attention(seed.weights, batch);
        sums.resize(layers.size());
        for (size_t n = 0; n < layers.size(); ++n)
          sums[n] += layers[n].distance / static_cast<double>(model.seeds.size());
      }
      Json json = Json(Json::Array{});
      for (const double sum : sums) json.push_back(sum);
      return json;
    });
    PlotPoints points;
    std::vector<std::string> row = {model.label};
    double mean = 0;
    for (const Json& layer : distances.array("distances")) {
      const double distance = layer.number("distance");
      points.emplace_back(static_cast<double>(points.size() + 1), distance);
      row.push_back(format("%.1f", distance));
      mean += distance;
    }
    if (points.empty()) continue;  // all seeds diverged
    row.push_back(format("%.1f", mean / static_cast<double>(points.size())));
    panel.line(model.label, std::move(points));
    table.row(row);
  }
  result.plot(panel);
  result.table(
      message("mean attention distance over ", batch.sequences, " held-out windows of ", batch.length,
              " characters; equal weights would give ", format("%.1f", (batch.length - 1) / 3.0)),
      table);
  result.note(
      "The paper: the distance falls as p grows, and later layers look further than earlier ones, for both "
      "attentions; its "
      "figure has no numbers.");
}

}  // namespace

Experiment attention_distance_experiment() {
  return {.name = "attention-distance",
          .title = "Mean attention distance by layer and p",
          .scaled_down =
              "The models of `power` (4 layers, windows of 128 characters) instead of 12-layer models with a "
              "context "
              "of 512 tokens of WikiText-103, 256 windows instead of 1,000.",
          .run = run};
}

}  // namespace psm::cmd
