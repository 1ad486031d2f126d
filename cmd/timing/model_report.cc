#include "cmd/timing/model_report.h"

#include <cmath>
#include <map>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {
namespace {

// Seconds on an A100 (app. he-param: 93 in all), by our parts; what the paper states for several of them
// together stands next to the first. Products by plaintext matrices take 28: 5.814 for query, key and value,
// 18.732 for the feed-forward part (1.88 a layer up, 1.242 down), and the rest for the output of attention.
const std::map<std::string, std::string>& paper_computations() {
  static const std::map<std::string, std::string> seconds{
      {"linear_query_key_value_up", "17.1"},
      {"linear_output_down", "10.9"},
      {"masks", "17 with scores, times_values"},
      {"powers", "8.82 with inverse"},
      {"gelu", "7.7 with inverse_square_root"},
      {"bootstraps", "18.6 outside of functions"},
      {"other", "15"},
  };
  return seconds;
}

const std::map<std::string, std::string>& paper_operations() {
  static const std::map<std::string, std::string> seconds{
      {"bootstrap", "33"}, {"encode", "25"}, {"rotate", "13.6"}};
  return seconds;
}

Figures part_figures(const char* what, const ModelRun& run, const std::vector<PassPart>& parts,
                     const std::map<std::string, std::string>& paper) {
  Figures figures;
  for (const PassPart& part : parts) {
    Figures::Row& row = figures.row();
    row.both("name", what, part.name)
        .number("seconds", "seconds", part.seconds, "%.2f")
        .cell("share", percent(part.seconds / run.times.warm_pass()))
        .number("encoding", "of them encoding", part.encoding, "%.2f")
        .number("predicted", "predicted", part.predicted, "%.2f");
    if (const auto found = paper.find(part.name); run.as_in_paper && found != paper.end())
      row.cell("paper, A100", found->second);
  }
  return figures;
}

}  // namespace

ModelReport model_report(const ModelRun& run) {
  const ModelTimes& times = run.times;
  const RunFigures& figures = times.figures;
  const auto bootstrap = times.bootstrap_full();
  const Figures computations =
                    part_figures("by what is computed", run, times.computations, paper_computations()),
                operations = part_figures("by operation", run, times.operations, paper_operations());

  Table table({"", "measured", message("predicted", figures.caveat())});
  table.row({"first pass", seconds_text(times.first), seconds_text(figures.predicted_first())});
  table.row({"warm pass, median of " + std::to_string(times.warm.size()), seconds_text(times.warm_pass()),
             seconds_text(figures.predicted_warm())});
  if (bootstrap) {
    const double predicted = figures.costs().bootstrap({}).seconds;
    table.row({"a bootstrap of all complex slots, median of " + std::to_string(times.bootstraps.size()),
               seconds_text(*bootstrap), seconds_text(predicted)});
    table.row({"ratio of warm pass to bootstrap", format("%.1f", times.warm_pass() / *bootstrap),
               format("%.1f", figures.predicted_warm() / predicted)});
  }
  const int count = run.deployment.plan.bootstraps;
  table.row({"bootstraps in a pass", std::to_string(count), std::to_string(count)});
  table.row({"memory at its peak", bytes_text(static_cast<double>(peak_resident_bytes())),
             bytes_text(figures.predicted_bytes())});
  table.row({"keys", seconds_text(times.keygen), ""});
  const Comparison& c = times.versus_twin;
  ModelReport report;
  report.text =
      table.text() + "\n" + computations.table().text() + "\n" + operations.table().text() + "\n  " +
      message("logits against the twin's: relative RMS error 2^", format("%.2f", std::log2(c.relative_rms)),
              ", MSE ", format("%.3g", c.mse), ", max |error| ", format("%.3g", c.max_abs),
              "; same argmax at ", c.agree, " of ", c.positions, " positions\n");

  Json& json = report.json;
  json["shape"] = run.shape;
  json["tokens"] = run.deployment.packing.tokens;
  json["layers"] = run.deployment.model.weights.config.layers;
  json["prompts"] = static_cast<int64_t>(run.prompts);
  json["params"] = parameters_json(*run.deployment.context);
  json["threads"] = thread_count();
  json["seconds"] = times.warm_pass();
  json["seconds_of_passes"] = Json(Json::Array(times.warm.begin(), times.warm.end()));
  json["seconds_first_pass"] = times.first;
  json["encode_seconds_first_pass"] = times.first_encoding;
  json["seconds_keygen"] = times.keygen;
  json["bootstrap_full_seconds"] = bootstrap ? Json(*bootstrap) : Json();
  json["ratio"] = bootstrap ? Json(times.warm_pass() / *bootstrap) : Json();
  json["bootstraps"] = count;
  json["by_computation"] = computations.json();
  json["by_operation"] = operations.json();
  json["predicted_seconds"] = figures.predicted_warm();
  json["peak_rss_bytes"] = peak_resident_bytes();
  json["predicted_peak_bytes"] = figures.predicted_bytes();
  json["versus_twin"] = c.json();
  return report;
}

}  // namespace psm::cmd
