// Figs. AttnMats and AttnMatsSamples: attention matrices, averaged and single, by layer and p.
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/trainings/attention_maps.h"
#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {
namespace {

constexpr int kSequences = 256;
constexpr int kNear = 3;

void run(StudyContext& context, StudyResult& result) {
  const TextStudy text(context);
  std::vector<Trainings> models;
  for (const int p : {4, 8, 12}) models.push_back(text.power(p));
  models.push_back(text.softmax());
  const train::Batch batch = text.data().validation(context.examples(kSequences));

  ImageGrid averages, samples;
  Table table({"model", "weight on the last 4 characters", "largest weight of a row, mean"});
  for (const Trainings& model : models) {
    if (!model.first().diverged.empty()) continue;
    const std::vector<LayerAttention> layers = measure_attention(model.first().weights, batch);
    averages.columns.push_back(model.label);
    averages.rows.resize(layers.size());
    samples.rows.resize(layers.size());
    double near = 0, largest = 0;
    for (size_t n = 0; n < layers.size(); ++n) {
      averages.rows[n].name = samples.rows[n].name = "layer " + std::to_string(n + 1);
      averages.rows[n].images.push_back(image_of_weights(layers[n].mean, batch.length));
      samples.rows[n].images.push_back(image_of_weights(layers[n].sample, batch.length));
      // Over the rows that are long enough.
      const double rows = static_cast<double>(layers.size()) * (batch.length - kNear);
      for (int t = kNear; t < batch.length; ++t) {
        const double* row = layers[n].sample.data() + static_cast<size_t>(t) * batch.length;
        const double* mean = layers[n].mean.data() + static_cast<size_t>(t) * batch.length;
        for (int j = t - kNear; j <= t; ++j) near += mean[j] / rows;
        largest += *std::max_element(row, row + t + 1) / rows;
      }
    }
    table.row({model.label, format("%.3f", near), format("%.3f", largest)});
  }
  samples.columns = averages.columns;
  result.images(
      message("averages over ", batch.sequences, " held-out windows and all heads; row: query, column: key"),
      averages);
  result.images("one window, one head", samples);
  result.table("how local the averages are, and how sharp the samples", table);
  result.note(
      "The paper: with larger p matrices become more local, with a stronger diagonal; the last layers are "
      "more global than "
      "the middle ones. Grey is the square root of the weight over the picture's largest.");
}

}  // namespace

Experiment attention_matrices_experiment() {
  return {.name = "attention-matrices",
          .title = "Attention matrices, averaged and single",
          .scaled_down =
              "The models of `power` (4 layers, seed 1, windows of 128 characters) instead of three seeds of "
              "12-layer "
              "models with a context of 512 tokens; 256 windows instead of 1,000.",
          .run = run};
}

}  // namespace psm::cmd
