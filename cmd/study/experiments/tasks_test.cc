// The experiment `tasks` on a small model in llama2.c's files, and on tasks of a few lines.
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/random/training_random.h"
#include "cmd/study/experiments/experiment.h"
#include "cmd/study/experiments/runner.h"
#include "doctest/doctest.h"
#include "train/harness/harness_tasks.h"

namespace psm::cmd {
namespace {

constexpr int kVocab = 259;

template <typename Number>
void append(std::string& bytes, Number value) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  bytes.append(raw, sizeof value);
}

// A model of bytes: one layer of d = 8 with a context of 48.
std::string model_file() {
  constexpr int kDim = 8, kHidden = 12, kKeyDim = 4, kContext = 48;
  std::string bytes;
  for (const int size : {kDim, kHidden, 1, 2, 1, kVocab, kContext}) append(bytes, int32_t{size});
  TrainingRandom random(1);
  const auto matrix = [&](int count) {
    for (int i = 0; i < count; ++i) append(bytes, static_cast<float>(0.3 * random.normal()));
  };
  const auto ones = [&] {
    for (int i = 0; i < kDim; ++i) append(bytes, 1.0f);
  };
  matrix(kVocab * kDim), ones(), matrix(kDim * kDim + 2 * kKeyDim * kDim + kDim * kDim);
  ones(), matrix(3 * kHidden * kDim), ones();
  return bytes;
}

std::string tokenizer_file() {
  std::string bytes;
  append(bytes, int32_t{6});
  const auto token = [&](const std::string& text) {
    append(bytes, 0.0f), append(bytes, static_cast<int32_t>(text.size()));
    bytes += text;
  };
  for (const char* text : {"<unk>", "<s>", "</s>"}) token(text);
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof name, "<0x%02X>", static_cast<unsigned>(byte));
    token(name);
  }
  return bytes;
}

std::string data_folder() {
  const std::string folder = (std::filesystem::path(std::getenv("TEST_TMPDIR")) / "data").string();
  for (const char* part : {"model", "text", "eval"}) std::filesystem::create_directories(folder + "/" + part);
  write_file(folder + "/model/stories260K.bin", model_file());
  write_file(folder + "/model/tok512.bin", tokenizer_file());
  std::string text;
  for (int i = 0; i < 200; ++i) text += "the quick brown fox jumps over the lazy dog ";
  write_file(folder + "/text/gutenberg7-train.txt", text);
  for (const train::HarnessTask& task : train::harness_tasks()) {
    std::string lines;
    for (int i = 0; i < 8; ++i)
      lines += task.form == train::TaskForm::kLastWord ? R"({"context": "the quick", "continuation": "fox"})"
                                                         "\n"
               : task.form == train::TaskForm::kAnswers
                   ? R"({"query": "Who?", "choices": ["the fox", "the dog"], "gold": 1})"
                     "\n"
                   : R"({"context_options": ["the fox", "the dog"], "continuation": "ran", "gold": 0})"
                     "\n";
    write_file(folder + "/eval/" + std::string(task.name) + ".jsonl", lines);
  }
  return folder;
}

TEST_CASE("softmax, PowerSoftmax and its polynomial form are scored on every task, with and without shots") {
  StudyRun run;
  run.options.minutes = 1e-3, run.options.seeds = 2;
  run.options.out = (std::filesystem::path(std::getenv("TEST_TMPDIR")) / "out").string();
  run.options.data = data_folder();
  const Experiment experiment = experiment_named("tasks");
  run_experiment(experiment, run);
  const std::string file = run.options.out + "/tasks.json";
  const Json result = parse_json(read_file(file, 1 << 22), "tasks");
  CHECK(result.at("finished", "tasks").truth("finished"));
  int parts = 0;
  for (const train::HarnessTask& task : train::harness_tasks())
    for (const char* shots : {"0", "5"})
      for (const char* model : {"softmax, seed 1", "PowerSoftmax, seed 1", "polynomial, seed 2"}) {
        const std::string part = std::string(shots) + "-shot " + std::string(task.name) + ", " + model;
        CAPTURE(part);
        const std::string& correct =
            result.at("parts", "tasks").at(part, "parts").at("correct", part).string(part);
        CHECK(correct.size() == 4);  // the other four are for intervals
        CHECK(correct.find_first_not_of("01") == std::string::npos);
        ++parts;
      }
  CHECK(parts == 30);

  // From its parts the result is made again as it was.
  run_experiment(experiment, run);
  CHECK(parse_json(read_file(file, 1 << 22), "tasks").at("items", "tasks").dump() ==
        result.at("items", "tasks").dump());

  write_file(run.options.data + "/eval/piqa.jsonl", "{\"query\": \"Who?\"}\n");
  CHECK_THROWS_WITH_AS(run_experiment(experiment, run),
                       doctest::Contains("piqa.jsonl line 1 lacks 'choices'"), Error);
  std::filesystem::remove(run.options.data + "/eval/piqa.jsonl");
  CHECK_THROWS_WITH_AS(run_experiment(experiment, run), doctest::Contains("piqa.jsonl is missing"), Error);
}

}  // namespace
}  // namespace psm::cmd
