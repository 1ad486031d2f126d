#include "cmd/timing/model_report.h"

#include <cmath>
#include <map>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// Seconds on an A100 (app. he-param: 93 in all), by our parts; what the paper states for several of them
// together stands beside the first. Products by plaintext matrices take 28: 5.814 for query, key and value,
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

std::string part_table(const char* what, const ModelRun& run, const std::vector<PassPart>& parts,
                       const std::map<std::string, std::string>& paper) {
  std::vector<std::string> heading{what, "seconds", "share", "of them encoding", "predicted"};
  if (run.as_in_paper) heading.push_back("paper, A100");
  Table table(heading);
  const double whole = run.times.warm_pass();
  for (const PassPart& part : parts) {
    std::vector<std::string> row{part.name, format("%.2f", part.seconds), percent(part.seconds / whole),
                                 format("%.2f", part.encoding), format("%.2f", part.predicted)};
    if (run.as_in_paper) {
      const auto found = paper.find(part.name);
      row.push_back(found == paper.end() ? "" : found->second);
    }
    table.row(row);
  }
  return table.text();
}

constexpr const char* kOutside = "outside_kernels";

// Kernels, and what is none: the threads' time less all of theirs.
struct KernelRow {
  std::string name;
  double in_bootstraps, elsewhere;
};

std::vector<KernelRow> kernel_rows(const ModelRun& run) {
  const KernelSums& sums = run.times.kernels;
  KernelRow rest{kOutside, sums.threads_in_bootstraps, sums.threads_elsewhere};
  std::vector<KernelRow> rows;
  for (size_t kind = 0; kind < kKernelKinds; ++kind) {
    rows.push_back({name(static_cast<KernelKind>(kind)), sums.in_bootstraps[kind], sums.elsewhere[kind]});
    rest.in_bootstraps -= rows.back().in_bootstraps;
    rest.elsewhere -= rows.back().elsewhere;
  }
  rows.push_back(rest);
  return rows;
}

std::string kernel_table(const ModelRun& run) {
  Table table({"kernel", "thread seconds", "share", "in bootstraps", "elsewhere"});
  const double whole = run.times.kernels.threads_in_bootstraps + run.times.kernels.threads_elsewhere;
  for (const KernelRow& row : kernel_rows(run)) {
    const double both = row.in_bootstraps + row.elsewhere;
    const bool is_kernel = row.name != kOutside;
    table.row({is_kernel ? row.name : "outside of kernels: encoding, copies, waiting", format("%.2f", both),
               percent(both / whole), format("%.2f", row.in_bootstraps), format("%.2f", row.elsewhere)});
  }
  return table.text();
}

Json parts_json(const std::vector<PassPart>& parts, double PassPart::*member) {
  Json json = Json(Json::Object{});
  for (const PassPart& part : parts) json[part.name] = part.*member;
  return json;
}

Json optional_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::string model_report(const ModelRun& run) {
  const ModelTimes& times = run.times;
  const RunFigures& figures = times.figures;
  Table table({"", "measured", message("predicted", figures.caveat())});
  table.row({"first pass", seconds_text(times.first), seconds_text(figures.predicted_first())});
  table.row({"warm pass, median of " + std::to_string(times.warm.size()), seconds_text(times.warm_pass()),
             seconds_text(figures.predicted_warm())});
  if (const auto bootstrap = times.bootstrap_full()) {
    const double predicted = figures.costs().bootstrap().seconds;
    table.row({"a bootstrap of all complex slots, median of " + std::to_string(times.bootstraps.size()),
               seconds_text(*bootstrap), seconds_text(predicted)});
    table.row({"ratio of warm pass to bootstrap", format("%.1f", *times.ratio()),
               format("%.1f", figures.predicted_warm() / predicted)});
  }
  table.row({"bootstraps in a pass", std::to_string(run.deployment.plan.bootstraps),
             std::to_string(run.deployment.plan.bootstraps)});
  table.row({"memory at its peak", bytes_text(static_cast<double>(peak_resident_bytes())),
             bytes_text(figures.predicted_bytes())});
  table.row({"keys", seconds_text(times.keygen), ""});
  const Comparison& c = times.versus_twin;
  return table.text() + "\n" +
         part_table("by what is computed", run, times.computations, paper_computations()) + "\n" +
         part_table("by operation", run, times.operations, paper_operations()) + "\n" + kernel_table(run) +
         "\n  " +
         message("logits against the twin's: relative RMS error 2^",
                 format("%.2f", std::log2(c.relative_rms)), ", MSE ", format("%.3g", c.mse), ", max |error| ",
                 format("%.3g", c.max_abs), "; same argmax at ", c.agree, " of ", c.positions,
                 " positions\n");
}

Json model_json(const ModelRun& run) {
  const ModelTimes& times = run.times;
  const RunFigures& figures = times.figures;
  const attention::ModelConfig& config = run.deployment.model.weights.config;
  Json json;
  json["shape"] = run.shape;
  json["tokens"] = run.deployment.packing.tokens;
  json["layers"] = config.layers;
  json["prompts"] = static_cast<int64_t>(run.prompts);
  json["params"] = parameters_json(*run.deployment.context);
  json["threads"] = times.pass.threads;
  json["seconds"] = times.warm_pass();
  json["seconds_of_passes"] = Json(Json::Array{});
  for (const double seconds : times.warm) json["seconds_of_passes"].push_back(seconds);
  json["seconds_first_pass"] = times.first;
  json["encode_seconds_first_pass"] = times.first_encoding;
  json["seconds_keygen"] = times.keygen;
  json["bootstrap_full_seconds"] = optional_json(times.bootstrap_full());
  json["ratio"] = optional_json(times.ratio());
  json["bootstraps"] = run.deployment.plan.bootstraps;
  json["seconds_by_kind"] = parts_json(times.computations, &PassPart::seconds);
  json["encode_seconds_by_kind"] = parts_json(times.computations, &PassPart::encoding);
  json["predicted_seconds_by_kind"] = parts_json(times.computations, &PassPart::predicted);
  json["seconds_by_primitive"] = parts_json(times.operations, &PassPart::seconds);
  json["predicted_seconds_by_primitive"] = parts_json(times.operations, &PassPart::predicted);
  for (const KernelRow& row : kernel_rows(run)) {
    json["thread_seconds_by_kernel"][row.name]["in_bootstraps"] = row.in_bootstraps;
    json["thread_seconds_by_kernel"][row.name]["elsewhere"] = row.elsewhere;
  }
  json["seconds_of_kernel_pass"] =
      (times.kernels.threads_in_bootstraps + times.kernels.threads_elsewhere) / times.pass.threads;
  json["predicted_seconds"] = figures.predicted_warm();
  json["peak_rss_bytes"] = peak_resident_bytes();
  json["predicted_peak_bytes"] = figures.predicted_bytes();
  json["versus_twin"] = times.versus_twin.json();
  return json;
}

}  // namespace psm::cmd
