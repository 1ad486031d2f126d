#include "cmd/study/experiments/runner.h"

#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/shared_data.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

std::string fresh_folder(const std::string& name) {
  const auto folder = std::filesystem::path(std::getenv("TEST_TMPDIR")) / name;
  std::filesystem::remove_all(folder);
  return folder.string();
}

Json result_of(const std::string& folder, const std::string& name) {
  return parse_json(read_file(folder + "/" + name + ".json", 1 << 24), name);
}

int computed = 0;
bool killed = false;

// Two parts; `killed` ends the process's part between them.
Experiment two_parts() {
  return {.name = "softmax-curves",
          .title = "two parts",
          .scaled_down = "all",
          .run = [](StudyContext& context, StudyResult& result) {
            const auto part = [&](const char* name, double value) {
              return context.once(name, [&] {
                ++computed;
                return Json(value);
              });
            };
            double sum = part("first", 1.5).number("part");
            if (killed) throw Error("killed", Error::Kind::kFailed);
            sum += part("second", 2.25).number("part");
            result.note("sum " + std::to_string(sum));
          }};
}

TEST_CASE("an experiment that is killed goes on after its finished parts and ends with the same result") {
  StudyRun run;
  run.options = {.minutes = 1, .seeds = 1, .out = fresh_folder("whole"), .data = "nowhere"};
  computed = 0;
  run_experiment(two_parts(), run);
  const std::string whole = result_of(run.options.out, "softmax-curves").at("items", "result").dump();
  CHECK(computed == 2);

  run.options.out = fresh_folder("killed");
  killed = true;
  CHECK_THROWS_AS(run_experiment(two_parts(), run), Error);
  killed = false;
  CHECK_FALSE(result_of(run.options.out, "softmax-curves").at("finished", "result").truth("finished"));
  write_study_page(run.options.out);
  CHECK(read_file(run.options.out + "/index.html", 1 << 24).find("Not finished") != std::string::npos);
  computed = 0;
  run_experiment(two_parts(), run);
  CHECK(computed == 1);
  CHECK(result_of(run.options.out, "softmax-curves").at("items", "result").dump() == whole);

  SUBCASE("with other options it begins anew") {
    run.options.seeds = 2;
    computed = 0;
    run_experiment(two_parts(), run);
    CHECK(computed == 2);
  }
}

TEST_CASE("a result that is no result is refused with its path") {
  const std::string folder = fresh_folder("damaged");
  std::filesystem::create_directories(folder);
  for (const char* text : {"", "[]", "{}", "{\"name\": 3}"}) {
    CAPTURE(text);
    write_file(folder + "/softmax-curves.json", text);
    CHECK_THROWS_WITH_AS(write_study_page(folder), doctest::Contains("softmax-curves.json"), Error);
  }
}

TEST_CASE("every experiment stands for something in the paper, and every item has a command") {
  std::set<std::string> names, used;
  for (const Experiment& experiment : experiments()) {
    CHECK(names.insert(experiment.name).second);
    CHECK((experiment.run != nullptr));
    CHECK(experiment.scaled_down.size() > 10);
    CHECK(experiment_named(experiment.name).title == experiment.title);
  }
  for (const PaperItem& item : paper_items()) {
    CAPTURE(item.label);
    CHECK_FALSE(command_of(item).empty());
    if (item.experiment.empty()) {
      CHECK(item.budget.empty() == (item.command == "-"));
      CHECK(item.scaled_down.empty() == (item.command == "-"));
      continue;
    }
    CHECK(names.count(item.experiment) == 1);
    used.insert(item.experiment);
  }
  CHECK(used == names);
  CHECK_THROWS_WITH_AS(experiment_named("moon"), doctest::Contains("there is no experiment 'moon'"), Error);
}

TEST_CASE("every figure and table of the paper is in the list" * doctest::test_suite("external")) {
  const auto path = shared_data("../paper/000_bb983c41008484aa.txt");
  if (!path) return;
  const std::string paper = read_file(*path, 1 << 24);
  std::set<std::string> labels;
  for (const PaperItem& item : paper_items()) labels.insert(item.label);
  int found = 0;
  for (const std::string begin : {"\\label{fig:", "\\label{tab:"})
    for (size_t at = paper.find(begin); at != std::string::npos; at = paper.find(begin, at + 1)) {
      const size_t name = at + std::string("\\label{").size();
      const std::string label = paper.substr(name, paper.find('}', name) - name);
      // A line that LaTeX does not read.
      const std::string line = paper.substr(paper.rfind('\n', at) + 1, at - paper.rfind('\n', at) - 1);
      if (line.find('%') != std::string::npos) continue;
      CAPTURE(label);
      CHECK(labels.count(label) == 1);
      ++found;
    }
  CHECK(found > 15);
}

TEST_CASE("the experiments without data run and make a page") {
  StudyRun run;
  run.options = {.minutes = 1, .seeds = 1, .out = fresh_folder("cheap"), .data = "nowhere"};
  run.command = "the command";
  for (const char* name : {"softmax-curves", "division-error"}) run_experiment(experiment_named(name), run);
  const std::string page = read_file(run.options.out + "/index.html", 1 << 24);
  CHECK(page.find("<svg") != std::string::npos);
  CHECK(page.find("the command") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
  CHECK_THROWS_WITH_AS(run_experiment(experiment_named("power"), run), doctest::Contains("--data"), Error);
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

TEST_CASE(
    "the experiments on text run; models are shared, and a result that was deleted comes back the same") {
  StudyRun run;
  run.options = {.minutes = 1e-4, .seeds = 1, .out = fresh_folder("text"), .data = novels("novels")};
  for (const char* name : {"continual", "range-loss", "attention-matrices"}) {
    CAPTURE(name);
    run_experiment(experiment_named(name), run);
    CHECK(result_of(run.options.out, name).at("finished", name).truth(name));
  }
  const auto states = [&] {
    std::map<std::string, std::filesystem::file_time_type> times;
    for (const auto& entry : std::filesystem::directory_iterator(run.options.out + "/state"))
      times[entry.path().string()] = entry.last_write_time();
    return times;
  };
  const auto before = states();
  const std::string items = result_of(run.options.out, "range-loss").at("items", "range-loss").dump();
  std::filesystem::remove(run.options.out + "/range-loss.json");
  run_experiment(experiment_named("range-loss"), run);
  CHECK(result_of(run.options.out, "range-loss").at("items", "range-loss").dump() == items);
  CHECK(states() == before);
  CHECK(read_file(run.options.out + "/index.html", 1 << 24).find("data:image/bmp") != std::string::npos);
}

TEST_CASE("sweeps on text run, and say something of every training") {
  set_thread_count(1);  // trainings this small wait for threads longer than they compute
  StudyRun run;
  run.options = {.minutes = 1e-4, .seeds = 1, .out = fresh_folder("sweeps"), .data = novels("sweep data")};
  for (const auto& [name, rows] :
       {std::pair("power", 9), std::pair("stable", 5 + 3), std::pair("epsilon", 6)}) {
    CAPTURE(name);
    run_experiment(experiment_named(name), run);
    const std::string what = name;
    const Json result = result_of(run.options.out, what);
    CHECK(result.at("finished", what).truth(what));
    CHECK(result.at("items", what).dump().find("nan") == std::string::npos);
    size_t found = 0;
    for (const Json& item : result.at("items", what).array(what))
      if (item.at("kind", what).string(what) == "table") found += item.at("rows", what).array(what).size();
    CHECK(found == static_cast<size_t>(rows));
  }
}

TEST_CASE("depth compares all attentions at every depth") {
  set_thread_count(1);
  StudyRun run;
  run.options = {.minutes = 1e-4, .seeds = 1, .out = fresh_folder("depth"), .data = novels("depth data")};
  run_experiment(experiment_named("depth"), run);
  const std::string items = result_of(run.options.out, "depth").at("items", "depth").dump();
  CHECK(items.find("nan") == std::string::npos);
  for (const char* text : {"8 layers", "scaled ReLU / softmax", "PowerSoftmax, p = 6, c = 6"})
    CHECK(items.find(text) != std::string::npos);
}

TEST_CASE("--text takes the novels' place, and its last part is held out unless another is") {
  StudyRun run;
  const std::string folder = novels("text only");
  run.options = {
      .minutes = 1e-4, .seeds = 1, .out = fresh_folder("own text"), .data = fresh_folder("no novels")};
  CHECK_THROWS_WITH_AS(run_experiment(experiment_named("epsilon"), run), doctest::Contains("--data"), Error);
  run.options.text = folder + "/text/gutenberg7-train.txt";
  run_experiment(experiment_named("epsilon"), run);
  const std::string alone = result_of(run.options.out, "epsilon").at("items", "epsilon").dump();
  run.options.valid = folder + "/text/gutenberg7-valid.txt";
  run_experiment(experiment_named("epsilon"), run);
  const Json both = result_of(run.options.out, "epsilon");
  CHECK(both.at("items", "epsilon").dump() != alone);
  CHECK(both.at("request", "epsilon").at("text", "epsilon").array("text").size() == 2);
}

// Images of 28 x 28 in two classes: the left half is bright, or the right one.
std::string halves(const std::string& name) {
  const std::string folder = fresh_folder(name);
  std::filesystem::create_directories(folder + "/image");
  constexpr int kImages = 40, kSide = 28;
  std::string images("\0\0\x08\x03\0\0\0\x28\0\0\0\x1c\0\0\0\x1c", 16), labels("\0\0\x08\x01\0\0\0\x28", 8);
  for (int n = 0; n < kImages; ++n) {
    labels += static_cast<char>(n % 2);
    for (int pixel = 0; pixel < kSide * kSide; ++pixel)
      images += static_cast<char>((pixel % kSide < kSide / 2) == (n % 2 == 0) ? 200 : 20);
  }
  write_file(folder + "/image/mnist-t10k-images-idx3-ubyte.gz", images);
  write_file(folder + "/image/mnist-t10k-labels-idx1-ubyte.gz", labels);
  return folder;
}

TEST_CASE("the experiment on images runs to the polynomial model") {
  StudyRun run;
  run.options = {.minutes = 0.002, .seeds = 2, .out = fresh_folder("vision"), .data = halves("halves")};
  run_experiment(experiment_named("vision"), run);
  const Json result = result_of(run.options.out, "vision");
  CHECK(result.at("finished", "vision").truth("vision"));
  for (const char* part : {"mnist, polynomial, seed 1", "mnist, polynomial, seed 2"})
    CHECK(result.at("parts", "vision").at(part, "parts").at("scored", part).integer(part, 4, 4) == 4);
  CHECK(result.at("items", "vision").dump().find("nan") == std::string::npos);
}

// Phrases of words that are all good or all bad, 12 words or 3, and pairs of a question and a sentence, with
// GPT-2's tokenizer; nothing without the latter.
std::optional<std::string> phrases(const std::string& name) {
  const std::string folder = fresh_folder(name);
  std::filesystem::create_directories(folder + "/glue");
  std::filesystem::create_directories(folder + "/tokenizer");
  for (const std::string file : {"tokenizer/gpt2-encoder.json", "tokenizer/gpt2-vocab.bpe"}) {
    const auto path = shared_data(file);
    if (!path) return std::nullopt;
    std::filesystem::copy_file(*path, folder + "/" + file);
  }
  std::string text = "sentence\tlabel\n";
  TrainingRandom random(4);
  for (int n = 0; n < 2400; ++n) {
    const int label = n % 2;
    for (int w = 0; w < (n % 4 < 2 ? 12 : 3); ++w)
      text += std::string(label ? "good" : "bad") + std::to_string(random.integer(10000)) + " ";
    text += "\t" + std::to_string(label) + "\n";
  }
  write_file(folder + "/glue/sst2-train.tsv", text);
  std::string pairs = "index\tquestion\tsentence\tlabel\n";
  for (int n = 0; n < 200; ++n)
    pairs += message(n, "\tWho is number ", n, " ?\t", n % 2 ? "It is " : "Nobody knows ", n, " .\t",
                     n % 2 ? "entailment" : "not_entailment", "\n");
  write_file(folder + "/glue/qnli-dev.tsv", pairs);
  return folder;
}

TEST_CASE("the experiment on sentences runs to the polynomial model" * doctest::test_suite("external")) {
  const std::optional<std::string> folder = phrases("phrases");
  if (!folder) return;
  StudyRun run;
  run.options = {.minutes = 0.002, .seeds = 1, .out = fresh_folder("sentences"), .data = *folder};
  run_experiment(experiment_named("sentences"), run);
  const Json result = result_of(run.options.out, "sentences");
  CHECK(result.at("finished", "sentences").truth("sentences"));
  CHECK(result.at("items", "sentences").dump().find("nan") == std::string::npos);
  for (const char* part : {"sst2, polynomial, seed 1", "qnli, polynomial, seed 1"})
    CHECK(result.at("parts", "sentences").at(part, "parts").at("scored", part).integer(part, 4, 4) == 4);
}

}  // namespace
}  // namespace psm::cmd
