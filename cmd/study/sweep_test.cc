#include <array>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/shared_data.h"
#include "cmd/study/experiment.h"
#include "cmd/testing/test_tasks.h"

namespace psm::cmd {
namespace {

std::string fresh_folder(const std::string& name) {
  const std::string folder = path_of(name);
  std::filesystem::remove_all(folder);
  return folder;
}

StudyOptions options_of(double minutes, const std::string& out, const std::string& data, int seeds = 1) {
  return {.minutes = minutes, .seeds = seeds, .out = fresh_folder(out), .data = data, .text = ""};
}

std::string items_of(const std::string& name, const StudyOptions& options) {
  StudyResult result;
  run_experiment(experiment_named(name), options, result);
  return result.json().dump();
}

TEST_CASE("every experiment stands for something in the paper") {
  std::set<std::string_view> names, labels;
  for (const Experiment& experiment : experiments()) {
    CAPTURE(experiment.title);
    REQUIRE_FALSE(experiment.labels.empty());
    for (const std::string_view label : experiment.labels) CHECK(labels.insert(label).second);
    CHECK_FALSE(experiment.scaled_down.empty());
    CHECK(names.insert(experiment.name).second);
    CHECK((experiment.run != nullptr) == experiment.groups.empty());
    CHECK(experiment_named(experiment.name).title == experiment.title);
    for (const Group& group : experiment.groups)
      for (size_t i = 0; i < group.rows.size(); ++i) CHECK(group.rows[i].from < static_cast<int>(i));
  }
  CHECK_REFUSED(experiment_named("moon"), "there is no experiment 'moon'");
}

TEST_CASE("every figure and table of the paper is in PAPER.md" * doctest::test_suite("external")) {
  const auto path = shared_data("../paper/000_bb983c41008484aa.txt");
  if (!path) return;
  const std::string paper = read_file(*path, 1 << 24),
                    stated = read_file(runfile("attention/PAPER.md"), 1 << 20);
  int found = 0;
  for (const std::string begin : {"\\label{fig:", "\\label{tab:"})
    for (size_t at = paper.find(begin); at != std::string::npos; at = paper.find(begin, at + 1)) {
      const size_t name = at + std::string("\\label{").size();
      const std::string label = paper.substr(name, paper.find('}', name) - name);
      // A line that LaTeX does not read.
      const std::string line = paper.substr(paper.rfind('\n', at) + 1, at - paper.rfind('\n', at) - 1);
      if (line.find('%') != std::string::npos) continue;
      CAPTURE(label);
      const size_t row = stated.find(label.substr(0, 3) + ". `" + label.substr(4) + "`");
      REQUIRE(row != std::string::npos);
      const size_t command = stated.find('|', row);
      CHECK(stated.compare(command, 3, "| |") != 0);
      ++found;
    }
  CHECK(found > 15);
}

TEST_CASE("the experiments without data run; the others say what is missing") {
  const StudyOptions options = options_of(1, "cheap", "nowhere");
  for (const char* name : {"softmax-curves", "division-error"}) {
    const std::string items = items_of(name, options);
    CHECK(contains(items, "\"plot\""));
    CHECK_FALSE(contains(items, "nan"));
  }
  CHECK_REFUSED(items_of("power", options), "--data");
}

// Generated novels: words of a small vocabulary in random order.
std::string novels(const std::string& name) {
  const std::string folder = fresh_folder(name);
  std::filesystem::create_directories(folder + "/text");
  TrainingRandom random(3);
  for (const auto& [file, words] : {std::pair("train", 2000), std::pair("valid", 400)}) {
    std::string text;
    for (int i = 0; i < words; ++i) text += std::array{"the ", "whale ", "sea ", "ship\n"}[random.integer(4)];
    write_file(folder + "/text/gutenberg7-" + file + ".txt", text);
  }
  return folder;
}

TEST_CASE("the experiments on text run; models are shared, and a second run gives the same result") {
  set_thread_count(1);  // trainings this small wait for threads longer than they compute
  const StudyOptions options = options_of(1e-4, "text", novels("novels"));
  items_of("power", options);
  const auto states = [&] {
    std::map<std::string, std::filesystem::file_time_type> times;
    for (const auto& entry : std::filesystem::directory_iterator(options.out + "/state"))
      times[entry.path().string()] = entry.last_write_time();
    return times;
  };
  const auto of_power = states();
  items_of("attention-matrices", options);
  CHECK(states() == of_power);
  const std::string items = items_of("continual", options);
  CHECK(states().size() == of_power.size() + 4);  // two trainings, two files each
  const auto before = states();
  CHECK(items_of("continual", options) == items);
  CHECK(states() == before);
  CHECK(contains(items_of("range-loss", options), "denominator from"));
}

TEST_CASE("sweeps on text run, of --text where it is given, and say something of every training") {
  set_thread_count(1);
  StudyOptions options = options_of(1e-4, "sweeps", fresh_folder("no novels"));
  CHECK_REFUSED(items_of("epsilon", options), "--data");
  options.text = novels("sweep data") + "/text/gutenberg7-train.txt";
  for (const char* name : {"power", "stable", "epsilon", "depth"}) {
    CAPTURE(name);
    const Experiment& experiment = experiment_named(name);
    StudyResult result;
    run_experiment(experiment, options, result);
    CHECK(result.json().dump().find("nan") == std::string::npos);
    size_t found = 0, rows = 0;
    for (const Group& group : experiment.groups) rows += 1 + group.rows.size();
    for (const Json& item : result.json().array(name))
      if (item.at("kind", name).string(name) == "table") found += item.at("rows", name).array(name).size();
    CHECK(found == rows);
  }
}

std::string halves(const std::string& name) {
  const std::string folder = fresh_folder(name);
  std::filesystem::create_directories(folder + "/image");
  write_halves(folder + "/image/mnist-t10k-images-idx3-ubyte.gz",
               folder + "/image/mnist-t10k-labels-idx1-ubyte.gz");
  return folder;
}

TEST_CASE("the experiment on images runs to the polynomial model") {
  const StudyOptions options = options_of(0.002, "vision", halves("halves"), 2);
  const std::string items = items_of("vision", options);
  for (const char* text : {"Seed 2: ", "polynomial", "after range minimisation"})
    CHECK(contains(items, text));
  CHECK_FALSE(contains(items, "nan"));
}

// Phrases, with GPT-2's tokenizer; nothing without the latter.
std::optional<std::string> sentences(const std::string& name) {
  const std::string folder = fresh_folder(name);
  std::filesystem::create_directories(folder + "/glue");
  std::filesystem::create_directories(folder + "/tokenizer");
  for (const std::string file : {"tokenizer/gpt2-encoder.json", "tokenizer/gpt2-vocab.bpe"}) {
    const auto path = shared_data(file);
    if (!path) return std::nullopt;
    std::filesystem::copy_file(*path, folder + "/" + file);
  }
  write_file(folder + "/glue/sst2-train.tsv", phrases());
  return folder;
}

TEST_CASE("the experiment on sentences runs to the polynomial model" * doctest::test_suite("external")) {
  const std::optional<std::string> folder = sentences("phrases");
  if (!folder) return;
  const StudyOptions options = options_of(0.002, "sentences", *folder);
  const std::string items = items_of("sentences", options);
  CHECK(contains(items, "polynomials' intervals"));
  CHECK_FALSE(contains(items, "nan"));
}

}  // namespace
}  // namespace psm::cmd
