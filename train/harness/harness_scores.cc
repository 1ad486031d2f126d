#include "train/harness/harness_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ckks/base/error.h"
#include "ckks/base/progress.h"

namespace psm::train {
namespace {

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
