// Figs. AttnMats, AttnMatsSamples and AttnMeanDistance: attention matrices, averaged and single, and the mean
// attention distance, by layer and p.
#include <algorithm>
#include <iterator>

#include "ckks/base/error.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/attention_maps.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 256;
constexpr int kNear = 3;
constexpr int kPictured[] = {4, 8, 12};  // powers, besides softmax, whose matrices are shown

struct Locality {
  double near = 0, largest = 0;  // means over the rows that are long enough
};

Locality locality_of(const std::vector<LayerAttention>& layers, int length) {
  Locality locality;
  const double rows = static_cast<double>(layers.size()) * (length - kNear);
  for (const LayerAttention& layer : layers)
    for (int t = kNear; t < length; ++t) {
      const double* row = layer.sample.data() + static_cast<size_t>(t) * length;
      const double* mean = layer.mean.data() + static_cast<size_t>(t) * length;
      for (int j = t - kNear; j <= t; ++j) locality.near += mean[j] / rows;
      locality.largest += *std::max_element(row, row + t + 1) / rows;
    }
  return locality;
}

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  struct Model {
    Trainings trainings;
    bool pictured;
  };
  std::vector<Model> models;
  for (const int p : TextStudy::kPowers)
    models.push_back({text.power(p), std::ranges::find(kPictured, p) != std::end(kPictured)});
  models.push_back({text.softmax(), true});
  const train::Batch batch = text.data().validation(context.examples(kSequences));

  ImageGrid averages, samples;
  averages.rows.resize(TextStudy::kFamilyLayers);
  for (size_t n = 0; n < averages.rows.size(); ++n) averages.rows[n].name = message("layer ", n + 1);
  samples = averages;
  SvgPanel panel;
  panel.title = "by layer";
  panel.x_label = "layer, counted from 1";
  panel.y_label = "mean attention distance, characters";
  std::vector<std::string> heading = {"model"};
  for (const ImageGrid::Row& row : averages.rows) heading.push_back(row.name);
  heading.push_back("mean");
  Table distances(heading),
      sharpness({"model", "weight on the last 4 characters", "largest weight of a row, mean"});
  for (const auto& [trainings, pictured] : models) {
    std::vector<double> sums(averages.rows.size());  // over the seeds
    size_t seeds = 0;
    for (const Trained& seed : trainings.seeds) {
      if (!seed.diverged.empty()) continue;
      const std::vector<LayerAttention> layers = measure_attention(seed.weights, batch);
      for (size_t n = 0; n < layers.size(); ++n) sums[n] += layers[n].distance;
      ++seeds;
      if (!pictured || &seed != &trainings.first()) continue;
      averages.columns.push_back(trainings.label);
      for (size_t n = 0; n < layers.size(); ++n) {
        averages.rows[n].images.push_back(image_of_weights(layers[n].mean, batch.length));
        samples.rows[n].images.push_back(image_of_weights(layers[n].sample, batch.length));
      }
      const Locality locality = locality_of(layers, batch.length);
      sharpness.row({trainings.label, format("%.3f", locality.near), format("%.3f", locality.largest)});
    }
    if (seeds == 0) continue;
    PlotPoints points;
    std::vector<std::string> row = {trainings.label};
    double mean = 0;
    for (const double sum : sums) {
      const double distance = sum / static_cast<double>(seeds);
      points.emplace_back(static_cast<double>(points.size() + 1), distance);
      row.push_back(format("%.1f", distance));
      mean += distance / static_cast<double>(sums.size());
    }
    row.push_back(format("%.1f", mean));
    panel.line(trainings.label, std::move(points));
    distances.row(row);
  }
  samples.columns = averages.columns;
  result.images(
      message("averages over ", batch.sequences, " held-out windows and all heads; row: query, column: key"),
      averages);
  result.images("one window, one head", samples);
  result.table("how local the averages are, and how sharp the samples", sharpness);
  result.plot(panel);
  result.table(
      message("mean attention distance over ", batch.sequences, " held-out windows of ", batch.length,
              " characters; equal weights would give ", format("%.1f", (batch.length - 1) / 3.0)),
      distances);
  result.note(
      "The paper, without numbers: with larger p matrices become more local, with a stronger diagonal, and "
      "the "
      "distance falls; the last layers are more global than the middle ones and look further than earlier "
      "ones, "
      "for both attentions. Grey is the square root of the weight over the picture's largest.");
}

}  // namespace

Experiment attention_matrices_experiment() {
  return {
      .name = "attention-matrices",
      .title = "Attention matrices, averaged and single, and the mean attention distance",
      .scaled_down =
          "The models of `power` (4 layers, windows of 128 characters; pictures of seed 1) instead of three "
          "seeds of 12-layer models with a context of 512 tokens of WikiText-103; 256 windows instead of "
          "1,000.",
      .run = run};
}

}  // namespace psm::cmd
