// bazel run //cmd:study -- list | run NAME|all [flags]: the paper's figures and tables about models, measured
// here.
#include <cstdio>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"
#include "ckks/base/processor.h"
#include "cmd/study/sweep.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/html.h"

namespace psm::cmd {
namespace {

std::string labels_of(const Experiment& experiment) {
  std::string labels;
  for (const std::string_view label : experiment.labels) labels += message(labels.empty() ? "" : ", ", label);
  return labels;
}

void list() {
  for (const Experiment& experiment : experiments()) {
    std::printf("%s: %s\n  command      %s\n", labels_of(experiment).c_str(), experiment.title.data(),
                command_of(experiment).c_str());
    if (!experiment.budget.empty())
      std::printf("  budget       %s\n  scaled down  %s\n", experiment.budget.data(),
                  experiment.scaled_down.data());
  }
}

void run(const Experiment& experiment, const StudyOptions& options) {
  std::printf("== %s: %s\n", experiment.name.data(), experiment.title.data());
  std::fflush(stdout);
  const double start = seconds_now();
  StudyResult result;
  run_experiment(experiment, options, result);
  const std::string title(experiment.title), scaled_down(experiment.scaled_down);
  const std::string command = command_of(experiment) +
                              message(" --minutes ", options.minutes, " --seeds ", options.seeds),
                    facts = message(seconds_text(seconds_now() - start), " on ", thread_count(),
                                    " threads of ", processor_name());
  const std::string file = message(options.out, "/", experiment.name);
  write_file(file + ".json", Json(Json::Object{{"name", std::string(experiment.name)},
                                               {"title", title},
                                               {"paper", labels_of(experiment)},
                                               {"scaled_down", scaled_down},
                                               {"command", command},
                                               {"took", facts},
                                               {"items", result.json()}})
                                     .dump(1) +
                                 "\n");
  write_file(file + ".html",
             html_page(title, html_tagged("p", "In the paper: " + labels_of(experiment)) +
                                  html_tagged("p", "Scaled down: " + scaled_down) +
                                  html_tagged("code", command) + result.html() + html_tagged("p", facts)));
  std::printf("%swrote %s.html and .json\n", result.text().c_str(), file.c_str());
}

int study(int argc, char** argv) {
  Command flags("bazel run //cmd:study -- list | run NAME|all [flags]",
                "Runs the paper's experiments on models at sizes that two cores can train, and writes "
                "NAME.json and NAME.html, a page with all plots and tables. `list` names every figure and "
                "table, its command, its budget and what is scaled down. An interrupted training goes on "
                "where it was when the same command is given again.",
                Command::Writes::kNothing);
  const auto& words =
      flags.words("list | run NAME", 1, 2, "list, or run and the name of an experiment or all");
  StudyOptions options;
  const double& minutes =
      flags.number("minutes", options.minutes, 1e-4, 1e6,
                   "what an experiment may train, in minutes of two cores (fixed steps, no clock)");
  const int64_t& seeds =
      flags.integer("seeds", 3, 1, 100, "repeat trainings with seeds 1 to this; they share the minutes");
  const std::string& out =
      flags.output("out", "folder for results; made if it is missing", Flags::Output::kFolder, "study");
  const std::string& data = flags.text("data", "../shared/data", "folder of the data");
  const std::string& text = flags.text(
      "text", "", "another text for language models than the novels of --data; its last tenth is held out");
  flags.begin(argc, argv);
  if (words[0] == "list" && words.size() == 1) {
    list();
    return 0;
  }
  if (words[0] != "run" || words.size() != 2)
    throw Error("give either list, or run and the name of an experiment");
  options = {.minutes = minutes,
             .seeds = static_cast<int>(seeds),
             .out = resolve_user_path(out),
             .data = resolve_user_path(data),
             .text = text.empty() ? "" : resolve_user_path(text)};
  std::filesystem::create_directories(options.out);
  if (words[1] != "all") {
    run(experiment_named(words[1]), options);
    return 0;
  }
  for (const Experiment& experiment : experiments())
    if (!experiment.name.empty()) run(experiment, options);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::study, argc, argv); }
