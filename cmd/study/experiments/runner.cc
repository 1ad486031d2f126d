#include "cmd/study/experiments/runner.h"

#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"
#include "ckks/base/processor.h"
#include "cmd/study/report/page.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

constexpr JsonLimits kLimits{.max_bytes = uint64_t{64} << 20, .max_values = uint64_t{1} << 20};

std::string json_path(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".json";
}

std::optional<Json> read_result(const std::string& folder, const std::string& name) {
  const std::string path = json_path(folder, name);
  if (!std::filesystem::exists(path)) return std::nullopt;
  Json document = parse_json(read_file(path, kLimits.max_bytes), path, kLimits);
  if (!document.is_object()) throw Error(message(path, " is not a result of a study; delete it"));
  return document;
}

std::string paper_labels(const std::string& experiment) {
  std::string labels;
  for (const PaperItem& item : paper_items())
    if (item.experiment == experiment)
      labels += (labels.empty() ? "" : "; ") + item.what + " (" + item.label + ")";
  return labels;
}

// What decides the parts of an experiment.
Json request_of(const StudyOptions& options) {
  Json request = Json::Object{{"minutes", options.minutes}, {"seeds", options.seeds}, {"data", options.data}};
  if (!options.text.empty()) request["text"] = Json::Array{options.text, options.valid};
  return request;
}

}  // namespace

void run_experiment(const Experiment& experiment, const StudyRun& run) {
  const std::string& folder = run.options.out;
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) throw Error(message("cannot make the folder ", folder, ": ", failure.message()));

  Json parts = Json(Json::Object{});
  double earlier_seconds = 0;
  if (const std::optional<Json> known = read_result(folder, experiment.name)) {
    const Json* request = known->find("request");
    if (request && request->dump(0) == request_of(run.options).dump(0)) {
      const std::string path = json_path(folder, experiment.name);
      known->at("parts", path).object(path + ": parts");
      parts = known->at("parts", path);
      earlier_seconds = known->at("seconds", path).number(path + ": seconds");
    }
  }

  const double start = seconds_now();
  Json document;
  document["name"] = experiment.name;
  document["title"] = experiment.title;
  document["paper"] = paper_labels(experiment.name);
  document["scaled_down"] = experiment.scaled_down;
  document["command"] = run.command;
  document["commit"] = run.commit;
  document["processor"] = processor_name();
  document["threads"] = thread_count();
  document["seeds"] = run.options.seeds;
  document["request"] = request_of(run.options);
  const auto write = [&](bool finished, const StudyResult& result, const Json& done) {
    document["seconds"] = earlier_seconds + seconds_now() - start;
    document["finished"] = finished;
    document["items"] = result.json();
    document["html"] = result.html();
    document["parts"] = done;
    write_file(json_path(folder, experiment.name), document.dump(1) + "\n");
  };

  Json done = parts;
  StudyContext context(run.options, std::move(parts), [&](const Json& all) {
    done = all;
    write(false, {}, done);
  });
  StudyResult result;
  experiment.run(context, result);
  write(true, result, done);
  std::printf("%s", result.tables().c_str());
  std::fflush(stdout);
  write_study_page(folder);
}

void write_study_page(const std::string& folder) {
  std::vector<std::pair<std::string, std::string>> sections;
  for (const Experiment& experiment : experiments())
    if (const std::optional<Json> document = read_result(folder, experiment.name))
      sections.emplace_back(experiment.name, study_section(*document, json_path(folder, experiment.name)));
  write_file(folder + "/index.html", study_page(sections));
}

}  // namespace psm::cmd
