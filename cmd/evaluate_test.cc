// //cmd:evaluate --tasks as its users call it, on a small model and files of a few lines.
#include <filesystem>

#include "attention/trained/measure.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "cmd/testing/test_commands.h"
#include "cmd/training/training_run.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/harness/harness_tasks.h"

namespace psm::cmd {
namespace {

int run(const std::string& arguments) { return run_command_line("evaluate " + arguments).exit_code; }

void refused(const std::string& arguments, const std::string& why) {
  check_refused("evaluate " + arguments, why);
}

// A model of bytes; polynomial too, if asked for.
attention::Checkpoint small_model(bool polynomial, bool tokenizer = true) {
  attention::Checkpoint checkpoint;
  checkpoint.weights = attention::random_weights(
      {.vocab = 256, .context = 32, .layers = 1, .width = 16, .heads = 2, .ffn = 32, .epsilon = 0.1}, 3);
  nn::BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  if (tokenizer)
    write_notes(PromptCodec(std::make_shared<const nn::Tokenizer>(spec, "test")), checkpoint.notes,
                checkpoint.weights.config);
  if (polynomial) {
    const std::string text = "Question: What leaks?\nAnswer: a c";
    const std::vector<std::vector<int>> sequences = {std::vector<int>(text.begin(), text.begin() + 32)};
    checkpoint.ranges = attention::measure_ranges(checkpoint.weights, sequences);
    checkpoint.polynomial = attention::PolynomialOptions{};
  }
  return checkpoint;
}

// A folder of all tasks, three examples each.
std::string tasks_folder() {
  const std::string folder = path_of("tasks");
  std::filesystem::create_directories(folder);
  for (const train::HarnessTask& task : train::harness_tasks()) {
    const std::string line =
        task.form == train::TaskForm::kLastWord ? R"({"context": "To be or not to", "continuation": "be"})"
        : task.form == train::TaskForm::kAnswers
            ? R"({"query": "Question: Leaks?", "choices": ["a cup", "a sieve"], "gold": 1})"
            : R"({"context_options": ["He so he", "He so I"], "continuation": "ran.", "gold": 0})";
    write_file(folder + "/" + std::string(task.name) + ".jsonl", line + "\n" + line + "\n" + line + "\n");
  }
  return folder;
}

TEST_CASE("every token of a text but the first is scored, in windows of the model's context") {
  attention::save_checkpoint(path_of("text.safetensors"), small_model(false));
  write_file(path_of("text.txt"), std::string(70, 'a'));
  const Json scored =
      figures_of("evaluate --model " + path_of("text.safetensors") + " --text " + path_of("text.txt"));
  CHECK(number_in(scored, "trained", "positions") == 69);
  refused("--model " + path_of("text.safetensors") + " --text " + path_of("text.txt") + " --valid " +
              path_of("text.txt"),
          "give that file alone, without --valid");
}

TEST_CASE("all tasks are scored on the model and its polynomial form") {
  const std::string model = path_of("model.safetensors"), folder = tasks_folder(), figures = path_of("json");
  attention::save_checkpoint(model, small_model(true));
  std::string all;
  for (const train::HarnessTask& task : train::harness_tasks())
    all += (all.empty() ? "" : ",") + std::string(task.name);
  const std::string arguments =
      "--model " + model + " --tasks " + all + " --dir " + folder + " --json " + figures;
  REQUIRE(run(arguments + " --threads 1") == 0);
  const std::string one = read_file(figures, 1 << 20);
  REQUIRE(run(arguments + " --threads 2") == 0);
  CHECK(read_file(figures, 1 << 20) == one);
  const Json json = parse_json(one, "figures");
  for (const char* form : {"trained", "polynomial"})
    for (const train::HarnessTask& task : train::harness_tasks()) {
      CAPTURE(task.name);
      const Json& scores = json.at(form, "figures").at(task.name, "figures");
      CHECK(scores.at("examples", "scores").integer("examples", 0, 10) == 3);
      // The same example three times: all right or all wrong.
      const double acc = number_in(scores, "acc", "value");
      CHECK((acc == 0 || acc == 1));
      CHECK(number_in(scores, "acc", "standard_error") == 0);
      CHECK((scores.find("acc_norm") != nullptr) == task.normalised);
      CHECK((scores.find("perplexity") != nullptr) == (task.form == train::TaskForm::kLastWord));
    }
  const auto perplexity = [&](const char* form) {
    return number_in(json, form, "lambada_openai", "perplexity", "value");
  };
  CHECK(perplexity("polynomial") == doctest::Approx(perplexity("trained")).epsilon(1e-2));
  CHECK(perplexity("polynomial") != perplexity("trained"));

  REQUIRE(run("--model " + model + " --tasks piqa --dir " + folder + " --shots 2 --limit 2") == 0);
  const std::string table = read_file(path_of("out"), 1 << 16);
  CAPTURE(table);
  CHECK(contains(table, "piqa     trained  2       acc "));
  CHECK(contains(table, "piqa, trained: examples with a context cut from the left: 2"));
}

TEST_CASE("what cannot be scored is refused in one line") {
  const std::string model = path_of("plain.safetensors"), mute = path_of("mute.safetensors"),
                    folder = tasks_folder();
  attention::save_checkpoint(model, small_model(false));
  attention::save_checkpoint(mute, small_model(false, false));
  const std::string with = "--model " + model + " --dir " + folder + " --tasks ";
  refused(with + "hellaswag",
          "there is no task 'hellaswag'; there are: lambada_openai, arc_easy, arc_challenge, piqa, sciq, "
          "logiqa, wsc, winogrande, winograd_wsc");
  refused(with + "piqa,", "there is no task ''");
  refused(with + "piqa,piqa", "task piqa is given twice");
  refused(with + "piqa --text " + folder, "--tasks are read from --dir");
  refused(with + "piqa --shots 3", "piqa.jsonl line 1: of 3 examples, no 3 others");
  refused("--model " + model + " --tasks piqa", "--dir");
  refused("--model " + model + " --shots 5", "--shots is for --tasks");
  refused("--model " + model + " --text " + model + " --cut", "--cut and --ids are for --logits");
  refused("--model " + mute + " --tasks piqa --dir " + folder, "the model has no tokenizer");
  refused("--model " + model + " --tasks piqa --dir " + path_of("nowhere"), "piqa.jsonl");
  // A file that is wrong is found before an hour is spent on another one.
  const std::string piqa = folder + "/piqa.jsonl";
  write_file(piqa, R"({"query": "q", "choices": ["a", "b"]})");
  refused(with + "lambada_openai,piqa", "line 1 lacks 'gold'");
  CHECK(read_file(path_of("out"), 1 << 16).empty());
  std::filesystem::remove(piqa);
}

}  // namespace
}  // namespace psm::cmd
