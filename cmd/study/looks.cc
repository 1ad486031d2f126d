#include <algorithm>
#include <cmath>
#include <functional>

#include "ckks/base/error.h"
#include "cmd/study/attention_maps.h"
#include "cmd/study/experiment.h"
#include "cmd/study/result.h"
#include "train/stages/recipe.h"

namespace psm::cmd {
namespace {

constexpr int kRangeSequences = 256, kMapSequences = 256;
constexpr int kNear = 3;  // keys before the query's own that count as near it

}  // namespace

void show_ranges(const StudyOptions& options, const train::DataSource& source, const TrainedGroup& trained,
                 StudyResult& result) {
  const Group& group = trained.group;
  Table table({"model", "layer", "largest |score|", "denominator from", "to", "ratio", "variance ratio",
               "largest |GELU input|"});
  for (size_t i = 0; i < trained.rows.size(); ++i) {
    if (group.rows[i].form != attention::PowerForm::kLengthAgnostic) continue;
    std::vector<attention::Ranges> ranges;
    for (const Trained& seed : trained.rows[i])
      if (seed.diverged.empty())
        ranges.push_back(train::measure_ranges(seed.weights, source, options.examples(kRangeSequences)));
    for (size_t n = 0; n < static_cast<size_t>(group.layers) && !ranges.empty(); ++n) {
      const auto largest = [&](const std::function<double(const attention::LayerRanges&)>& figure) {
        double found = -INFINITY;
        for (const attention::Ranges& seed : ranges) found = std::max(found, figure(seed.layers[n]));
        return found;
      };
      using Layer = const attention::LayerRanges&;
      table.row({group.rows[i].label, std::to_string(n + 1),
                 format("%.2f", largest([](Layer l) { return l.score; })),
                 format("%.3g", -largest([](Layer l) { return -l.denominator.lo; })),
                 format("%.3g", largest([](Layer l) { return l.denominator.hi; })),
                 format("%.3g", largest([](Layer l) { return l.denominator.hi / l.denominator.lo; })),
                 format("%.3g", largest([](Layer l) { return l.variance.hi / l.variance.lo; })),
                 format("%.2f", largest([](Layer l) { return l.gelu_input; }))});
    }
  }
  result.table("ranges on training text in the form that runs encrypted; the largest of all seeds", table);
}

// Pictures of the first seed; distances are means over the seeds.
void show_attention(const StudyOptions& options, const train::DataSource& source, const TrainedGroup& trained,
                    StudyResult& result) {
  const Group& group = trained.group;
  const train::Batch batch = source.validation(options.examples(kMapSequences));
  const auto layers = static_cast<size_t>(group.layers), length = static_cast<size_t>(batch.length);
  ImageGrid averages;
  std::vector<std::string> heading = {"model", "weight on the last 4 characters", "distance: mean"};
  for (size_t n = 1; n <= layers; ++n) {
    averages.rows.push_back({message("layer ", n), {}});
    heading.push_back(message("layer ", n));
  }
  ImageGrid samples = averages;
  Table table(heading);
  SvgPanel panel{
      .title = "mean attention distance", .x_label = "layer, counted from 1", .y_label = "characters"};
  for (size_t i = 0; i < trained.rows.size(); ++i) {
    const std::string& label = group.rows[i].label;
    std::vector<double> distance(layers);
    double near = 0, count = 0;
    for (const Trained& seed : trained.rows[i]) {
      if (!seed.diverged.empty()) continue;
      const std::vector<LayerAttention> measured = measure_attention(seed.weights, batch);
      for (size_t n = 0; n < layers; ++n) {
        distance[n] += measured[n].distance;
        for (size_t t = kNear; t < length; ++t)
          for (size_t j = t - kNear; j <= t; ++j)
            near += measured[n].mean[t * length + j] / static_cast<double>(layers * (length - kNear));
      }
      if (count++ > 0) continue;
      averages.columns.push_back(label);
      for (size_t n = 0; n < layers; ++n) {
        averages.rows[n].images.push_back(bitmap_of_weights(measured[n].mean, batch.length));
        samples.rows[n].images.push_back(bitmap_of_weights(measured[n].sample, batch.length));
      }
    }
    if (count == 0) continue;
    PlotPoints points;
    std::vector<std::string> cells = {label, format("%.3f", near / count), ""};
    double mean = 0;
    for (const double sum : distance) {
      points.emplace_back(static_cast<double>(points.size() + 1), sum / count);
      cells.push_back(format("%.1f", sum / count));
      mean += sum / count / static_cast<double>(layers);
    }
    cells[2] = format("%.1f", mean);
    panel.line(label, std::move(points));
    table.row(cells);
  }
  samples.columns = averages.columns;
  result.images(message("averages over ", batch.sequences,
                        " held-out windows and all heads; row: query, column: key; grey: ",
                        "the square root of a weight over the picture's largest"),
                averages);
  result.images("one window, one head", samples);
  result.plot(panel);
  result.table(
      message("attention in windows of ", batch.length, " characters; equal weights have the distance ",
              format("%.1f", (batch.length - 1) / 4.0)),
      table);
}

}  // namespace psm::cmd
