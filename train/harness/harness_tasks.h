// Tasks of the EleutherAI language model evaluation harness (github.com/EleutherAI/lm-evaluation-harness), on
// which tab. pile compares models, and the files of their examples.
//
// An example has a few candidates, each a context c and a continuation y; number `gold` is right. Each line
// of a file is an example, a JSON object of one of three forms. Other members are ignored:
//
//     kLastWord   {"context", "continuation"}                   one candidate: is it what the model would write?
//     kAnswers    {"query", "choices", "gold"}                  one context, a continuation for each choice
//     kReferents  {"context_options", "continuation", "gold"}   a context for each option, one continuation: "partial
//                                                               scoring" of Trinh and Le, arXiv 1806.02847
//
// Texts here are those of the file; harness_prompts.h makes the prompts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace psm::train {

enum class TaskForm { kLastWord, kAnswers, kReferents };

struct HarnessTask {
  std::string_view name;  // its file is NAME.jsonl
  TaskForm form;
  bool normalised = false;  // is acc_norm reported too?
};

// All known tasks: lambada_openai, arc_easy, piqa, winogrande, winograd_wsc (the harness's wsc273).
std::span<const HarnessTask> harness_tasks();
// Throws psm::Error that names the known tasks.
const HarnessTask& harness_task_named(std::string_view name);

struct TaskExample {
  int line = 0;                            // of the file, from 1
  std::vector<std::string> contexts;       // one of all candidates, or one of each
  std::vector<std::string> continuations;  // likewise
  size_t gold = 0;

  size_t candidates() const { return std::max(contexts.size(), continuations.size()); }
  const std::string& context(size_t candidate) const { return of(contexts, candidate); }
  const std::string& continuation(size_t candidate) const { return of(continuations, candidate); }

 private:
  static const std::string& of(const std::vector<std::string>& texts, size_t candidate) {
    return texts[texts.size() == 1 ? 0 : candidate];
  }
};

// Parses the examples of a file's text. Messages begin with `what`. Throws psm::Error that names the line if
// it is not JSON of this form, is longer than 1 MiB or not UTF-8, has a text of white space alone, fewer than
// 2 or more than 32 candidates, or a gold that is not one of them. Throws also if there are no examples, or
// more than 100,000.
std::vector<TaskExample> parse_task(const HarnessTask& task, std::string_view text, const std::string& what);

// Reads the file at `path`, at most 64 MiB.
std::vector<TaskExample> read_task(const HarnessTask& task, const std::string& path);

// "piqa.jsonl line 12", with the path as it was given.
std::string place_of(const TaskExample& example, const std::string& what);

}  // namespace psm::train
