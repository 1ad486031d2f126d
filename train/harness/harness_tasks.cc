#include "train/harness/harness_tasks.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/joined.h"
#include "ckks/base/progress.h"
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

constexpr size_t kExamples = 64;  // encoded and scored together

double characters(std::string_view text) {
  return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;  // UTF-8's bytes that begin one
  }));
}

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Standard error of the mean: standard deviation over sqrt(n); for zeros and ones sqrt(a (1 - a) / (n - 1)).
double standard_error(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double centre = mean(values);
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return std::sqrt(squares / (n - 1) / n);
}

// The prompts of an example's candidates; none: left out.
std::vector<EncodedPrompt> encode_example(const HarnessTask& task, std::span<const TaskExample> examples,
                                          size_t which, const nn::Tokenizer& tokenizer, int context,
                                          const HarnessOptions& options) {
  const std::vector<size_t> shots = draw_shots(examples.size(), which, options.shots, options.seed);
  std::vector<EncodedPrompt> prompts;
  for (size_t c = 0; c < examples[which].candidates(); ++c) {
    std::optional<EncodedPrompt> prompt =
        encode_prompt(harness_prompt(task.form, examples, which, c, shots), tokenizer, context);
    if (!prompt) return {};
    prompts.push_back(std::move(*prompt));
  }
  return prompts;
}

ExampleScore score_example(const TaskExample& example, std::span<const EncodedPrompt> prompts,
                           std::span<const Score> scores, size_t& not_a_number) {
  constexpr double kLost = -std::numeric_limits<double>::infinity();
  std::vector<double> plain, normalised;
  for (size_t c = 0; c < scores.size(); ++c) {
    const bool lost = std::isnan(scores[c].log_likelihood);
    not_a_number += lost;
    plain.push_back(lost ? kLost : scores[c].log_likelihood);
    normalised.push_back(plain.back() / characters(example.continuation(c)));
  }
  const auto chosen = [&](const std::vector<double>& values) {
    const auto best = std::max_element(values.begin(), values.end());
    return static_cast<size_t>(best - values.begin()) == example.gold && *best > kLost;
  };
  const size_t gold = example.gold;
  const bool alone = scores.size() == 1;
  return {.correct = alone ? scores[gold].greedy() && plain[gold] > kLost : chosen(plain),
          .correct_normalised = !alone && chosen(normalised),
          .log_likelihood = plain[gold],
          .tokens = static_cast<double>(prompts[gold].scored),
          .candidates = scores.size()};
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

size_t HarnessScores::scored() const {
  return static_cast<size_t>(std::count_if(examples.begin(), examples.end(),
                                           [](const auto& example) { return example.has_value(); }));
}

HarnessScores score_task(const HarnessTask& task, std::span<const TaskExample> examples,
                         const std::string& what, const nn::Tokenizer& tokenizer, int context,
                         const ScoreTexts& score, const HarnessOptions& options) {
  const size_t count = options.limit == 0 ? examples.size() : std::min(options.limit, examples.size());
  HarnessScores result;
  Progress progress(std::string(task.name), static_cast<double>(count));
  for (size_t first = 0; first < count; first += kExamples) {
    const size_t here = std::min(kExamples, count - first);
    std::vector<std::vector<EncodedPrompt>> encoded;
    std::vector<ScoredText> texts;  // of all prompts in order
    for (size_t i = first; i < first + here; ++i) {
      try {
        encoded.push_back(encode_example(task, examples, i, tokenizer, context, options));
      } catch (const Error& error) {
        throw Error(message(what, " line ", examples[i].line, ": ", error.what()));
      }
      for (const EncodedPrompt& prompt : encoded.back()) texts.push_back({prompt.tokens, prompt.scored});
      result.cut += std::ranges::any_of(encoded.back(), &EncodedPrompt::cut);
    }
    const std::vector<Score> scores = score(texts);
    std::span<const Score> rest = scores;
    for (size_t i = 0; i < here; ++i) {
      const std::vector<EncodedPrompt>& prompts = encoded[i];
      std::optional<ExampleScore>& example = result.examples.emplace_back();
      if (prompts.empty()) continue;
      example = score_example(examples[first + i], prompts, rest.first(prompts.size()), result.not_a_number);
      rest = rest.subspan(prompts.size());
    }
    progress.advance(static_cast<double>(here));
  }
  return result;
}

std::vector<HarnessMetric> harness_metrics(const HarnessTask& task, const HarnessScores& scores, int vocab) {
  std::vector<double> correct, normalised, likelihoods, tokens, guesses;
  for (const std::optional<ExampleScore>& example : scores.examples) {
    if (!example) continue;
    correct.push_back(example->correct);
    normalised.push_back(example->correct_normalised);
    likelihoods.push_back(example->log_likelihood);
    tokens.push_back(example->tokens);
    guesses.push_back(task.form == TaskForm::kLastWord ? std::pow(vocab, -example->tokens)
                                                       : 1.0 / static_cast<double>(example->candidates));
  }
  if (correct.empty())
    throw Error(message("task ", task.name,
                        ": every example has a continuation longer than the model's context; give a "
                        "model with a longer one"));
  std::vector<HarnessMetric> metrics;
  metrics.push_back({"acc", mean(correct), standard_error(correct), mean(guesses)});
  if (task.normalised)
    metrics.push_back({"acc_norm", mean(normalised), standard_error(normalised), mean(guesses)});
  if (task.form == TaskForm::kLastWord) {
    const double perplexity = std::exp(-mean(likelihoods));
    metrics.push_back(
        {"perplexity", perplexity, perplexity * standard_error(likelihoods), std::pow(vocab, mean(tokens))});
  }
  return metrics;
}

}  // namespace psm::train
