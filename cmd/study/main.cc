// bazel run //cmd:study -- list | run NAME|all [flags]: the paper's figures and tables about models, measured
// here.
#include <cstdio>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/parallel.h"
#include "cmd/study/experiments/encrypted_agreement.h"
#include "cmd/study/experiments/runner.h"

namespace psm::cmd {
namespace {

void list() {
  for (const PaperItem& item : paper_items()) {
    std::printf("%s: %s\n  command      %s\n", item.label.c_str(), item.what.c_str(),
                command_of(item).c_str());
    std::string budget = item.budget, scaled_down = item.scaled_down;
    if (!item.experiment.empty()) {
      const Experiment& experiment = experiment_named(item.experiment);
      budget = experiment.budget;
      scaled_down = experiment.scaled_down;
    }
    if (!budget.empty())
      std::printf("  budget       %s\n  scaled down  %s\n", budget.c_str(), scaled_down.c_str());
  }
}

int study(int argc, char** argv) {
  Flags flags("bazel run //cmd:study -- list | run NAME|all [flags]",
              "Runs the paper's experiments on models at sizes that two cores can train, and writes "
              "NAME.json for each\n"
              "and one page, index.html, with all plots and tables, our figures beside the paper's. `list` "
              "names every\n"
              "figure and table, its command, its budget and what is scaled down. An interrupted run goes on "
              "where it\n"
              "was when the same command is given again.");
  const auto& words =
      flags.words("list | run NAME", 1, 2, "list, or run and the name of an experiment or all");
  const double& minutes =
      flags.number("minutes", 5, 1e-4, 1e6,
                   "what an experiment may train, in minutes of two cores (fixed steps, no clock)");
  const int64_t& seeds =
      flags.integer("seeds", 3, 1, 100, "repeat trainings with seeds 1 to this; they share the minutes");
  const std::string& out =
      flags.output("out", "folder for results; made if it is missing", Flags::Output::kFolder, "study");
  const std::string& data = flags.text("data", "../shared/data", "folder of the data");
  const std::string& text = flags.text(
      "text", "", "another text for the language models than the novels of --data, such as WikiText");
  const std::string& valid =
      flags.text("valid", "", "--text: the text that is held out; the last part of --text unless given");
  const std::string& commit = flags.text("commit", "", "name of the version that runs, recorded as it is");
  const int64_t& samples = flags.integer("samples", 100, 1, kMaxSamples, "prompts of encrypted-agreement");
  const std::string& model = flags.text("model", "testdata/recall.safetensors",
                                        "polynomial model of encrypted-agreement (from //cmd:polynomialise)");
  const int64_t& threads =
      flags.integer("threads", 0, 0, 256, "threads to compute with; 0: one for each processor");
  flags.parse(argc, argv);
  if (flags.given("valid") && !flags.given("text"))
    throw Error("--valid holds out a text beside --text; give both");
  if (threads > 0) set_thread_count(static_cast<int>(threads));
  if (words[0] == "list" && words.size() == 1) {
    list();
    return 0;
  }
  if (words[0] != "run" || words.size() != 2)
    throw Error("give either list, or run and the name of an experiment");

  StudyRun run;
  run.options = {.minutes = minutes,
                 .seeds = static_cast<int>(seeds),
                 .out = resolve_user_path(out),
                 .data = resolve_user_path(data),
                 .samples = static_cast<int>(samples),
                 .model = resolve_user_path(model),
                 .text = text.empty() ? "" : resolve_user_path(text),
                 .valid = valid.empty() ? "" : resolve_user_path(valid)};
  run.commit = commit;
  std::vector<Experiment> wanted;
  if (words[1] == "all") {
    wanted.assign(experiments().begin(), experiments().end());
  } else {
    wanted.push_back(experiment_named(words[1]));
  }
  std::string failed;
  int worst = 0;
  for (const Experiment& experiment : wanted) {
    std::printf("== %s: %s\n", experiment.name.c_str(), experiment.title.c_str());
    std::fflush(stdout);
    run.command = "bazel run //cmd:study -- run " + experiment.name +
                  message(" --minutes ", minutes, " --seeds ", seeds);
    for (const auto& [name, value] : {std::pair<const char*, std::string>{"out", out},
                                      {"data", data},
                                      {"text", text},
                                      {"valid", valid},
                                      {"model", model},
                                      {"samples", std::to_string(samples)}})
      if (flags.given(name)) run.command += message(" --", name, " ", value);
    try {
      run_experiment(experiment, run);
    } catch (const Error& error) {
      if (wanted.size() == 1) throw;
      std::printf("%s: %s\n", experiment.name.c_str(), error.what());
      failed += (failed.empty() ? "" : ", ") + experiment.name;
      worst = std::max(worst, error.exit_code());
    }
  }
  if (!failed.empty())
    throw Error(message("these experiments did not run, for the reasons above: ", failed),
                static_cast<Error::Kind>(worst));
  std::printf("wrote %s/index.html\n", out.c_str());
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) {
  return psm::run_secret_command([&] { return psm::cmd::study(argc, argv); });
}
