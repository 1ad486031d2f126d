#include "train/harness/harness_tasks.h"

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"
#include "ckks/base/random/training_random.h"
#include "nn/text/lines.h"

namespace psm::train {
namespace {

constexpr uint64_t kMaxFileBytes = uint64_t{64} << 20;
constexpr size_t kMaxLineBytes = size_t{1} << 20, kMaxExamples = 100'000;
constexpr size_t kMinCandidates = 2, kMaxCandidates = 32;
constexpr char kWhiteSpace[] = " \t\n\v\f\r";
// An object with an array of candidates and some members of other programs.
constexpr JsonLimits kLimits{.max_bytes = kMaxLineBytes, .max_depth = 8, .max_values = 256};

constexpr HarnessTask kTasks[] = {
    {.name = "lambada_openai", .form = TaskForm::kLastWord},
    {.name = "arc_easy", .form = TaskForm::kAnswers, .normalised = true},
    {.name = "arc_challenge", .form = TaskForm::kAnswers, .normalised = true},
    {.name = "piqa", .form = TaskForm::kAnswers, .normalised = true},
    {.name = "sciq", .form = TaskForm::kAnswers, .normalised = true},
    {.name = "logiqa", .form = TaskForm::kAnswers, .normalised = true},
    {.name = "wsc", .form = TaskForm::kAnswers},
    {.name = "winogrande", .form = TaskForm::kReferents},
    {.name = "winograd_wsc", .form = TaskForm::kReferents},
};

std::string text_from(const Json& json, const std::string& what) {
  const std::string& text = json.string(what);
  if (text.find_first_not_of(kWhiteSpace) == std::string::npos)
    throw Error(message(what, " has nothing but white space; an example needs a text there"));
  return text;
}

std::vector<std::string> texts_from(const Json& json, const std::string& what) {
  const Json::Array& items = json.array(what);
  if (items.size() < kMinCandidates || items.size() > kMaxCandidates)
    throw Error(message(what, " has ", items.size(), " texts; ", kMinCandidates, " to ", kMaxCandidates,
                        " are expected"));
  std::vector<std::string> texts;
  for (const Json& item : items) texts.push_back(text_from(item, what));
  return texts;
}

// What a line of each form has, in the order of TaskForm, as the evaluation harness's data have been brought into.
constexpr const char* kLines[] = {R"({"context": "..", "continuation": ".."})",
                                  R"({"query": "..", "choices": ["..", ".."], "gold": 0})",
                                  R"({"context_options": ["..", ".."], "continuation": "..", "gold": 0})"};

TaskExample example_from(TaskForm form, const Json& json, const std::string& what) {
  if (!json.is_object()) throw Error(what + " is not a JSON object; an example is one");
  const auto member = [&](const char* name, auto read) {
    const Json* found = json.find(name);
    if (found == nullptr)
      throw Error(
          message(what, " lacks '", name, "'; a line of this task is ", kLines[static_cast<size_t>(form)]));
    return read(*found, message(what, ": '", name, "'"));
  };
  TaskExample example;
  switch (form) {
    case TaskForm::kLastWord:
      example.contexts = {member("context", text_from)};
      example.continuations = {member("continuation", text_from)};
      return example;
    case TaskForm::kAnswers:
      example.contexts = {member("query", text_from)};
      example.continuations = member("choices", texts_from);
      break;
    case TaskForm::kReferents:
      example.contexts = member("context_options", texts_from);
      example.continuations = {member("continuation", text_from)};
      break;
  }
  const auto last = static_cast<int64_t>(example.candidates()) - 1;
  example.gold = member("gold", [&](const Json& gold, const std::string& name) {
    return static_cast<size_t>(gold.integer(name, 0, last));
  });
  return example;
}

// The length of a text without the white space at its end.
size_t trimmed_length(std::string_view text) {
  return text.find_last_not_of(kWhiteSpace) + 1;  // npos + 1 is 0
}

Prompt unaided_prompt(TaskForm form, const TaskExample& example, size_t candidate) {
  std::string context = example.context(candidate);
  if (form == TaskForm::kAnswers) {
    context.resize(trimmed_length(context));
    context += "\nAnswer:";
  }
  return {std::move(context), " " + example.continuation(candidate)};
}

std::vector<int> encode(const std::string& text, const nn::Tokenizer& tokenizer) {
  std::vector<int> tokens = tokenizer.encode(text);
  if (const auto start = tokenizer.start()) tokens.insert(tokens.begin(), *start);
  return tokens;
}

}  // namespace

std::span<const HarnessTask> harness_tasks() { return kTasks; }

const HarnessTask& harness_task_named(std::string_view name) {
  return named(kTasks, name, &HarnessTask::name, "task");
}

std::vector<TaskExample> parse_task(const HarnessTask& task, std::string_view text, const std::string& what) {
  std::vector<TaskExample> examples;
  int line = 0;
  for (const std::string_view content : nn::lines_of(text)) {
    const std::string place = message(what, " line ", ++line);
    if (examples.size() == kMaxExamples)
      throw Error(message(place, ": at most ", kMaxExamples, " examples are read; split the file"));
    if (content.size() > kMaxLineBytes)
      throw Error(message(place, " has ", content.size(), " bytes, at most ", kMaxLineBytes, " are read"));
    examples.push_back(example_from(task.form, parse_json(content, place, kLimits), place));
    examples.back().line = line;
  }
  if (examples.empty()) throw Error(message(what, " has no examples; give a file with one a line"));
  return examples;
}

std::vector<TaskExample> read_task(const HarnessTask& task, const std::string& path) {
  return parse_task(task, read_file(path, kMaxFileBytes), path);
}

Prompt harness_prompt(TaskForm form, std::span<const TaskExample> examples, size_t which, size_t candidate,
                      std::span<const size_t> shots) {
  std::string before;
  for (const size_t shot : shots) {
    const Prompt solved = unaided_prompt(form, examples[shot], examples[shot].gold);
    before += solved.context + solved.continuation + "\n\n";
  }
  Prompt prompt = unaided_prompt(form, examples[which], candidate);
  prompt.context.insert(0, before);
  return prompt;
}

std::vector<size_t> draw_shots(size_t examples, size_t which, size_t count, uint64_t seed) {
  if (count >= examples)
    throw Error(
        message("of ", examples, " examples, no ", count, " others can be shown; ask for fewer shots"));
  TrainingRandom random = TrainingRandom(seed).split(which);
  std::vector<size_t> shots;
  while (shots.size() < count) {
    const size_t drawn = random.integer(examples);
    if (drawn != which && std::find(shots.begin(), shots.end(), drawn) == shots.end()) shots.push_back(drawn);
  }
  return shots;
}

std::optional<EncodedPrompt> encode_prompt(const Prompt& prompt, const nn::Tokenizer& tokenizer,
                                           int context) {
  const std::string context_text = prompt.context.substr(0, trimmed_length(prompt.context));
  EncodedPrompt encoded;
  encoded.tokens = encode(prompt.context + prompt.continuation, tokenizer);
  const size_t before = encode(context_text, tokenizer).size(), all = encoded.tokens.size();
  if (before == 0 || before >= all)
    throw Error(message("the tokenizer leaves no token of the ", before == 0 ? "context" : "continuation"));
  encoded.scored = all - before;
  const auto read = static_cast<size_t>(context);
  if (encoded.scored > read) return std::nullopt;
  encoded.cut = all > read + 1;
  if (encoded.cut)
    encoded.tokens =
        std::vector<int>(encoded.tokens.end() - static_cast<std::ptrdiff_t>(read + 1), encoded.tokens.end());
  return encoded;
}

}  // namespace psm::train
