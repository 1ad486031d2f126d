// bazel run //cmd:study -- list | run NAME|all | verify [NAME] | tables | data [flags]: the paper's figures and tables
// about models, measured here; and whether what the documents state is what was measured.
#include <algorithm>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/joined.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "cmd/claims/data_files.h"
#include "cmd/claims/results.h"
#include "cmd/protocol/child_process.h"
#include "cmd/study/experiment.h"
#include "cmd/terminal/command.h"
#include "cmd/terminal/html.h"
#include "cmd/terminal/units.h"

namespace psm::cmd {
namespace {

std::string labels_of(const Experiment& experiment) { return joined(experiment.labels); }

constexpr uint64_t kMaxFile = 16 << 20;

int list() {
  for (const Experiment& experiment : experiments())
    print(labels_of(experiment), ": ", experiment.title, "\n  command      ", command_of(experiment),
          "\n  budget       ", experiment.budget, "\n  scaled down  ", experiment.scaled_down, "\n");
  return 0;
}

void run(const Experiment& experiment, const StudyOptions& options) {
  print("== ", experiment.name, ": ", experiment.title, "\n");
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
  print(result.text(), "wrote ", file, ".html and .json\n");
}

// Fills the blocks of all documents.
int write_tables(const std::string& repository) {
  const std::vector<Result> results = read_results(repository + "/" + kResultsFolder);
  int unsupported = 0;
  for (const std::string name : kDocuments) {
    const std::string file = repository + "/" + name, old = read_file(file, kMaxFile),
                      document = with_results(old, results);
    if (document != old) write_file(file, document);
    for (const std::string& figure : unsupported_figures(document, results)) {
      print(name, ":", figure, " is in no result\n");
      ++unsupported;
    }
  }
  return unsupported > 0;
}

// The version at hand.
std::string version() {
  ChildProcess git({"git", "describe", "--always", "--dirty", "--abbrev=8"});
  std::string commit = git.output();
  if (commit.ends_with('\n')) commit.pop_back();
  return commit;
}

// Runs the command of one result anew, or of all that have one, and compares. A command that fails is counted, and the
// others still run. Writes the new figures if asked to.
int verify(const std::string& repository, const std::string& name, bool write) {
  int differing = 0, compared = 0, failed = 0;
  std::vector<Result> results = read_results(repository + "/" + kResultsFolder);
  const auto by_hand = [](const Figure& figure) { return figure.at.empty(); };
  std::erase_if(results, [&](const Result& result) {
    return (name.empty() ? result.command.empty() : result.name != name) ||
           std::ranges::all_of(result.figures, by_hand);
  });
  if (results.empty()) throw Error(message("there is no result '", name, "' with a figure to compare"));
  for (const Result& result : results)  // before anything is run
    if (const auto figure = std::ranges::find_if(result.figures, by_hand);
        write && figure != result.figures.end())
      throw Error(message("no rerun measures the figure '", figure->name, "' of ", result.name,
                          ", and --write would call it measured now; enter the new figures by hand"));
  for (Result& result : results) {
    print("== ", result.name, ": ", result.command, "\n");
    const std::string commit = write ? version() : "";
    const double start = seconds_now();
    std::vector<std::optional<double>> values;
    try {
      values = measure_again(result);
    } catch (const Error& error) {
      print("not measured: ", visible(error.what()), "\n");
      ++failed;
      continue;
    }
    const bool same_machine = is_same_machine(result.machine, processor_name());
    Table table({"figure", "stated", "now", "tolerance", ""});
    for (size_t i = 0; i < values.size(); ++i) {
      const Figure& figure = result.figures[i];
      if (!values[i]) continue;
      const bool confirmed = is_confirmed(figure, *values[i], same_machine);
      differing += !confirmed, ++compared;
      table.row({figure.name, format("%.6g", figure.value) + " " + figure.unit, format("%.6g", *values[i]),
                 percent(figure.tolerance), confirmed ? "" : "DIFFERS"});
      result.json["figures"][figure.name]["value"] = *values[i];
    }
    print(table.text(), "stated for ", result.machine.empty() ? "an unknown machine" : result.machine,
          ", now on ", processor_name(), same_machine ? "" : "; times are not compared", "\n");
    if (!write) continue;
    result.json["commit"] = commit;
    if (!same_machine) result.json["machine"] = processor_name();
    result.json["seconds"] = seconds_now() - start;
    write_file(message(repository, "/", kResultsFolder, "/", result.name, ".json"), file_of(result.json));
  }
  print(differing, " of ", compared, " figures differ\n");
  if (failed > 0) print(failed, " of ", results.size(), " results were not measured\n");
  return failed > 0 || (differing > 0 && !write);
}

// Says which files of testdata/data.json a folder has; makes the novels from raw ones first.
int data_at_hand(const std::string& repository, const std::string& folder, const std::string& raw) {
  const Json data = parse_json(read_file(repository + "/testdata/data.json", kMaxFile), "data.json");
  if (!raw.empty()) {
    std::vector<std::string> novels;
    for (const Json& novel : data.at("novels", "data.json").array("novels"))
      novels.push_back(read_file(raw + "/" + novel.at("raw", "novels").string("raw"), kMaxFile));
    const auto [train, held_out] = prepare_novels(novels);
    std::filesystem::create_directories(folder + "/text");
    write_file(folder + "/text/gutenberg7-train.txt", train);
    write_file(folder + "/text/gutenberg7-valid.txt", held_out);
  }
  int wanting = 0;
  for (const DataFile& file : check_data(data, folder)) {
    const bool there = file.state == DataState::kThere;
    print(file.path, ": ",
          there                               ? "there"
          : file.state == DataState::kMissing ? "MISSING"
                                              : "DIFFERS from the file that was measured with",
          "\n");
    if (!there) print("  get it     ", file.source, "\n  prepare it ", file.prepared, "\n");
    wanting += !there;
  }
  return wanting > 0;
}

int study(int argc, char** argv) {
  Command flags(
      "bazel run //cmd:study -- list | run NAME|all | verify [NAME] | tables | data [flags]",
      "Runs the paper's experiments on models at sizes that two cores can train, and writes "
      "NAME.json and NAME.html, a page with all plots and tables. `list` names these figures and "
      "tables, their commands, their budgets and what is scaled down. An interrupted training goes on "
      "where it was when the same command is given again. `verify` runs the command of each result in "
      "testdata/results again and compares. `tables` writes the results into the documents. `data` "
      "says which outside files are in the folder of --data, which differ, and where to get the others.",
      Command::Writes::kNothing);
  const auto& words = flags.words("list | run NAME | ..", 1, 2, "what to do, and with what");
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
  const bool& write = flags.truth("write", false, "verify: keep the new figures in the results");
  const std::string& raw =
      flags.text("raw", "", "data: folder of raw novels, from which the texts are made first");
  flags.begin(argc, argv);
  for (const char* flag : {"minutes", "seeds", "out", "text"})
    if (flags.given(flag) && words[0] != "run") throw Error(message("--", flag, " is for run"));
  if (write && words[0] != "verify") throw Error("--write is for verify");
  if (flags.given("raw") && words[0] != "data") throw Error("--raw is for data");
  const std::string root = resolve_user_path(".");  // of the repository
  if (words[0] == "verify") return verify(root, words.size() == 2 ? words[1] : "", write);
  if (words.size() == 1 && words[0] == "list") return list();
  if (words.size() == 1 && words[0] == "tables") return write_tables(root);
  if (words.size() == 1 && words[0] == "data")
    return data_at_hand(root, resolve_user_path(data), resolve_user_path(raw));
  if (words[0] != "run" || words.size() != 2)
    throw Error("give list, tables or data alone, verify with or without a name, or run and an experiment");
  options = {.minutes = minutes,
             .seeds = static_cast<int>(seeds),
             .out = resolve_user_path(out),
             .data = resolve_user_path(data),
             .text = resolve_user_path(text)};
  std::filesystem::create_directories(options.out);
  if (words[1] != "all") {
    run(experiment_named(words[1]), options);
    return 0;
  }
  for (const Experiment& experiment : experiments()) run(experiment, options);
  return 0;
}

}  // namespace
}  // namespace psm::cmd

int main(int argc, char** argv) { return psm::cmd::run_secret(psm::cmd::study, argc, argv); }
