#include "train/harness/harness_prompts.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"

namespace psm::train {
namespace {

constexpr char kWhiteSpace[] = " \t\n\v\f\r";

// The length of a text without the white space at its end.
size_t trimmed_length(std::string_view text) {
  const size_t last = text.find_last_not_of(kWhiteSpace);
  return last == std::string_view::npos ? 0 : last + 1;
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
