#include "train/harness/harness_scores.h"

#include <cmath>
#include <functional>
#include <limits>

#include "ckks/base/testing/check.h"

namespace psm::train {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

nn::Tokenizer bytes_tokenizer() {
  nn::BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  return nn::Tokenizer(spec, "test");
}

// Gives the likelihoods of a list, one after another; the greedy ones are those above -1.
struct ListScorer {
  std::vector<double> likelihoods;
  int context = 64;
  std::vector<std::string> shown = {};  // every text

  std::vector<ContinuationScore> operator()(std::span<const ScoredText> texts) {
    std::vector<ContinuationScore> scores;
    for (const ScoredText& text : texts) {
      const double likelihood = likelihoods.at(shown.size());
      scores.push_back({likelihood, likelihood > -1});
      shown.emplace_back(text.tokens.begin(), text.tokens.end());
    }
    return scores;
  }
};

std::string answer_lines(int count) {
  std::string lines;
  for (int i = 0; i < count; ++i)
    lines += R"({"query": "Q", "choices": ["aaaa", "b"], "gold": 0})"
             "\n";
  return lines;
}

HarnessScores score(const char* name, const std::string& lines, ListScorer& scorer,
                    const HarnessOptions& options = {}) {
  const HarnessTask& task = harness_task_named(name);
  return score_task(task, parse_task(task, lines, "file"), "file", bytes_tokenizer(), scorer.context,
                    std::ref(scorer), options);
}

TEST_CASE("acc takes the likeliest choice, acc_norm the likeliest by character, the first of equals") {
  // By character: -1 and -3; -2 and -1; -1 and -1.
  ListScorer scorer{{-4, -3, -8, -1, -4, -1, -2, -2}};
  const HarnessScores scores = score("piqa", answer_lines(4), scorer);
  CHECK(scores.scored() == 4);
  const auto metrics = harness_metrics(harness_task_named("piqa"), scores, 256);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].name == "acc");
  CHECK(metrics[0].value == 0.25);  // the last: equal
  CHECK(metrics[0].standard_error == doctest::Approx(std::sqrt(0.25 * 0.75 / 3)));
  CHECK(metrics[0].chance == 0.5);
  CHECK(metrics[1].name == "acc_norm");
  CHECK(metrics[1].value == 0.75);
}

TEST_CASE("acc_norm counts characters, not bytes") {
  ListScorer scorer{{-2, -1.5}};
  const auto scores = score("piqa", R"({"query": "Q", "choices": ["\u00e9\u00e9", "e"], "gold": 0})", scorer);
  CHECK_FALSE(scores.examples[0]->correct);
  CHECK(scores.examples[0]->correct_normalised);  // -2 / 2 against -1.5 / 1
  ListScorer other{{-3.2, -1.5}};                 // by byte, -0.8 would win
  CHECK_FALSE(score("piqa", R"({"query": "Q", "choices": ["\u00e9\u00e9", "e"], "gold": 0})", other)
                  .examples[0]
                  ->correct_normalised);
}

TEST_CASE("the last word: greedy accuracy, perplexity, and what uniform tokens would give") {
  const std::string lines = R"({"context": "a", "continuation": "b"})"
                            "\n"
                            R"({"context": "a", "continuation": "bcd"})";
  ListScorer scorer{{-0.5, -2.5}};
  const auto metrics =
      harness_metrics(harness_task_named("lambada_openai"), score("lambada_openai", lines, scorer), 256);
  REQUIRE(metrics.size() == 2);
  CHECK(metrics[0].value == 0.5);
  CHECK(metrics[0].chance ==
        doctest::Approx((std::pow(256.0, -2) + std::pow(256.0, -4)) / 2).scale(0));  // with the space
  CHECK(metrics[1].name == "perplexity");
  CHECK(metrics[1].value == doctest::Approx(std::exp(1.5)));
  CHECK(metrics[1].standard_error == doctest::Approx(std::exp(1.5) * 1.0));  // s = sqrt 2 over sqrt 2
  CHECK(metrics[1].chance == doctest::Approx(std::pow(256.0, 3)));
}

TEST_CASE("referents are judged by the text that follows them") {
  ListScorer scorer{{-3, -2}};
  const auto scores =
      score("winogrande", R"({"context_options": ["A so A", "A so B"], "continuation": "ran.", "gold": 1})",
            scorer);
  CHECK(scores.examples[0]->correct);
  CHECK(scorer.shown == std::vector<std::string>{"A so A ran.", "A so B ran."});
  const auto metrics = harness_metrics(harness_task_named("winogrande"), scores, 256);
  REQUIRE(metrics.size() == 1);
  CHECK(std::isnan(metrics[0].standard_error));  // of one example
}

TEST_CASE("shots come from the whole file, the limit takes its first examples") {
  std::string lines;
  for (const char letter : std::string("abcdef"))
    lines += std::string("{\"context\": \"") + letter + "\", \"continuation\": \"z\"}\n";
  ListScorer scorer{std::vector<double>(2, -1)};
  CHECK(score("lambada_openai", lines, scorer, {.shots = 5, .limit = 2}).scored() == 2);
  REQUIRE(scorer.shown.size() == 2);
  CHECK(scorer.shown[0].ends_with("\n\na z"));
  CHECK(scorer.shown[1].ends_with("\n\nb z"));
  for (const char letter : std::string("bcdef"))
    CHECK(scorer.shown[0].find(std::string(1, letter) + " z\n\n") < 30);
}

TEST_CASE("a continuation longer than the context leaves its example out, a longer prompt is cut") {
  const std::string lines = answer_lines(1) +
                            R"({"query": "Q", "choices": ["a", "0123456789"], "gold": 0})"
                            "\n" +
                            R"({"query": "A long question?", "choices": ["a", "b"], "gold": 0})";
  ListScorer scorer{{-1, -2, -1, -2}, 10};
  const HarnessScores scores = score("piqa", lines, scorer);
  CHECK(scores.scored() == 2);
  CHECK_FALSE(scores.examples[1]);
  CHECK(scores.cut == 2);
  CHECK(scorer.shown.back() == "?\nAnswer: b");
  ListScorer none{{}, 3};
  CHECK_REFUSED(harness_metrics(harness_task_named("piqa"), score("piqa", answer_lines(2), none), 256),
                "longer than the model's context");
}

TEST_CASE("a likelihood that is no number never wins and is counted") {
  ListScorer scorer{{-9, kNaN, kNaN, -1, kNaN, kNaN}};
  const HarnessScores scores = score("piqa", answer_lines(3), scorer);
  CHECK(scores.not_a_number == 4);
  CHECK(scores.examples[0]->correct);
  CHECK_FALSE(scores.examples[1]->correct);
  CHECK_FALSE(scores.examples[2]->correct);
  ListScorer word{{kNaN}};
  const auto metrics =
      harness_metrics(harness_task_named("lambada_openai"),
                      score("lambada_openai", R"({"context": "a", "continuation": "b"})", word), 256);
  CHECK(metrics[0].value == 0);
  CHECK(std::isinf(metrics[1].value));
}

TEST_CASE("an example that cannot be prompted is named with its line") {
  ListScorer scorer{{}};
  CHECK_THROWS_WITH_AS(score("piqa", answer_lines(2), scorer, {.shots = 2}),
                       "file line 1: of 2 examples, no 2 others can be shown; ask for fewer shots", Error);
}

}  // namespace
}  // namespace psm::train
