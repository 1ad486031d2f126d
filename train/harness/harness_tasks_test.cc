#include "train/harness/harness_tasks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/shared_data.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::train {
namespace {

const HarnessTask kLambada = harness_task_named("lambada_openai"), kPiqa = harness_task_named("piqa"),
                  kWinogrande = harness_task_named("winogrande");

const std::string kWord = R"({"context": "To be or not to", "continuation": "be"})";
const std::string kAnswer =
    R"({"choices": ["a cup", "a sieve"], "gold": 1, "query": "Question: What leaks?"})";
const std::string kReferent =
    R"({"context_options": ["He fed the cat for the cat", "He fed the cat for he"], "continuation": "purred.", "gold": 0})";

void refused(const HarnessTask& task, const std::string& text, const std::string& why) {
  CAPTURE(text.substr(0, 200));
  CHECK_REFUSED(parse_task(task, text, "file"), why);
}

nn::BpeSpec byte_spec() {
  nn::BpeSpec spec;
  spec.kind = nn::BpeKind::kAlphabet;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  return spec;
}

const nn::Tokenizer kBytewise(byte_spec(), "bytes");

TEST_CASE("each form of task is read from its members, a line an example") {
  const auto words = parse_task(kLambada, kWord + "\n" + kWord + "\n", "file");
  REQUIRE(words.size() == 2);
  CHECK(words[1].line == 2);
  CHECK(words[1].candidates() == 1);
  CHECK(words[1].context(0) == "To be or not to");
  CHECK(words[1].continuation(0) == "be");

  const auto answers = parse_task(kPiqa, kAnswer, "file");
  REQUIRE(answers.size() == 1);
  CHECK(answers[0].candidates() == 2);
  CHECK(answers[0].gold == 1);
  CHECK(answers[0].context(0) == answers[0].context(1));
  CHECK(answers[0].continuation(1) == "a sieve");

  const auto referents = parse_task(kWinogrande, kReferent + "\r\n", "file");
  REQUIRE(referents.size() == 1);
  CHECK(referents[0].candidates() == 2);
  CHECK(referents[0].context(1) == "He fed the cat for he");
  CHECK(referents[0].continuation(1) == "purred.");
}

TEST_CASE("a file of another schema is refused with its line") {
  refused(kLambada, "", "file has no examples");
  refused(kLambada, kWord + "\nnonsense\n", "file line 2: not valid JSON at byte 0");
  refused(kLambada, kWord + "\n\n" + kWord, "file line 2 ends early");
  refused(kLambada, "[1]", "file line 1 is not a JSON object");
  refused(kLambada, kAnswer, "file line 1 lacks 'context'");
  refused(kLambada, R"({"context": "a", "continuation": 3})", "file line 1: 'continuation' must be a string");
  refused(kLambada, R"({"context": " \n", "continuation": "b"})", "'context' has nothing but white space");
  refused(kPiqa, kWord, "file line 1 lacks 'query'");
  refused(kPiqa, R"({"query": "q", "choices": ["a", "b"]})", "lacks 'gold'");
  refused(kPiqa, R"({"query": "q", "choices": ["a"], "gold": 0})",
          "'choices' has 1 texts; 2 to 32 are expected");
  refused(kPiqa, R"({"query": "q", "choices": ["a", ""], "gold": 0})",
          "'choices' has nothing but white space");
  refused(kPiqa, R"({"query": "q", "choices": "ab", "gold": 0})", "'choices' must be an array");
  for (const char* gold : {"2", "-1", "0.5", "\"0\"", "99999999999999999999"})
    refused(kPiqa, R"({"query": "q", "choices": ["a", "b"], "gold": )" + std::string(gold) + "}",
            "'gold' must be a whole number from 0 to 1");
  refused(kWinogrande, kAnswer, "lacks 'context_options'");
}

TEST_CASE("lines that are long, deep, full of values or no text are refused before they cost much") {
  const size_t megabytes = size_t{8} << 20;
  refused(kLambada, std::string(megabytes, '['), "line 1 has 8388608 bytes, at most 1048576");
  refused(kLambada, std::string(1000, '['), "nested too deep");
  std::string values = "{\"context\": [0";
  for (int i = 0; i < 1000; ++i) values += ",0";
  refused(kLambada, values + "]}", "too many values");
  refused(kLambada, "{\"context\": \"\xff\", \"continuation\": \"b\"}",
          "line 1: not valid JSON at byte 13: a string is not UTF-8");
  std::string many;
  for (int i = 0; i <= 100'000; ++i)
    many += R"({"context":"a","continuation":"b"})"
            "\n";
  refused(kLambada, many, "line 100001: at most 100000 examples");
}

TEST_CASE("whatever a file holds, its examples have candidates and a right one, or it is refused") {
  FuzzTarget target{.name = "tasks", .fixed_bytes = 1 << 16, .bytes_per_byte = 64};
  // A digit before each says its task; there is one of each form.
  for (const std::string& line : {"0" + kWord, "1" + kAnswer, "2" + kReferent})
    target.corpus.insert(target.corpus.end(), {line, line + "\n" + line.substr(1) + "\n"});
  target.decode = [&](std::string_view bytes) {
    const char* names[] = {"lambada_openai", "piqa", "winogrande", "none"};
    const HarnessTask& task = harness_task_named(names[bytes.empty() ? 3 : bytes[0] & 3]);
    const std::vector<TaskExample> examples = read_task(task, in_file(bytes.substr(1)));
    for (size_t i = 0; i < examples.size(); ++i) {
      PSM_CHECK(examples[i].gold < examples[i].candidates());
      PSM_CHECK(static_cast<size_t>(examples[i].line) == i + 1);
      for (size_t c = 0; c < examples[i].candidates(); ++c) {
        const Prompt prompt = harness_prompt(
            task.form, examples, i, c,
            draw_shots(examples.size(), i, std::min(bytes.size() % 3, examples.size() - 1), 1));
        PSM_CHECK(!prompt.context.empty() && !prompt.continuation.empty());
        const auto encoded = encode_prompt(prompt, kBytewise, 24);
        PSM_CHECK(!encoded || (encoded->scored > 0 && encoded->scored < encoded->tokens.size()));
      }
    }
  };
  check_fuzz(target);
}

// Bytes, " b" as one token (256), and 257 in front of a text if `starts`.
nn::Tokenizer bytes_tokenizer(bool starts = false) {
  nn::BpeSpec spec = byte_spec();
  spec.kind = nn::BpeKind::kBytes;
  spec.tokens.emplace_back(" b");
  spec.merges = {{' ', 'b'}};
  spec.added = {{.text = "<s>", .id = 257, .special = true}};
  if (starts) spec.ends.start = 257, spec.ends.end = 257;
  return nn::Tokenizer(spec, "test");
}

TaskExample example(std::vector<std::string> contexts, std::vector<std::string> continuations,
                    size_t gold = 0) {
  return {.contexts = std::move(contexts), .continuations = std::move(continuations), .gold = gold};
}

std::string text_of(const Prompt& prompt) { return prompt.context + "|" + prompt.continuation; }

TEST_CASE("a prompt is what the harness would give the model") {
  const std::vector<TaskExample> words = {example({"To be or not to"}, {"be"})};
  CHECK(text_of(harness_prompt(TaskForm::kLastWord, words, 0, 0, {})) == "To be or not to| be");
  const std::vector<TaskExample> answers = {example({"Question: What leaks?\n"}, {"a cup", "a sieve"}, 1)};
  CHECK(text_of(harness_prompt(TaskForm::kAnswers, answers, 0, 1, {})) ==
        "Question: What leaks?\nAnswer:| a sieve");
  const std::vector<TaskExample> referents = {example({"Ann met Bo; Ann", "Ann met Bo; Bo"}, {"left."})};
  CHECK(text_of(harness_prompt(TaskForm::kReferents, referents, 0, 1, {})) == "Ann met Bo; Bo| left.");
}

TEST_CASE("shots stand in front with their right answers, each followed by an empty line") {
  const std::vector<TaskExample> answers = {example({"Question: A?"}, {"a", "b"}, 0),
                                            example({"Question: B?"}, {"c", "d"}, 1),
                                            example({"Question: C?"}, {"e", "f"}, 0)};
  const size_t shots[] = {2, 1};
  CHECK(text_of(harness_prompt(TaskForm::kAnswers, answers, 0, 1, shots)) ==
        "Question: C?\nAnswer: e\n\nQuestion: B?\nAnswer: d\n\nQuestion: A?\nAnswer:| b");
  const std::vector<TaskExample> referents = {example({"A so A", "A so B"}, {"ran."}, 1),
                                              example({"C so C", "C so D"}, {"sat."}, 1)};
  const size_t one[] = {1};
  CHECK(text_of(harness_prompt(TaskForm::kReferents, referents, 0, 0, one)) == "C so D sat.\n\nA so A| ran.");
}

TEST_CASE("shots are different, never the example itself, drawn evenly, the same for the same seed") {
  std::vector<int> drawn(6);
  for (size_t seed = 0; seed < 600; ++seed) {
    std::vector<size_t> shots = draw_shots(6, 2, 3, seed);
    CHECK(shots == draw_shots(6, 2, 3, seed));
    REQUIRE(shots.size() == 3);
    for (const size_t shot : shots) ++drawn.at(shot);
    std::sort(shots.begin(), shots.end());
    CHECK(std::adjacent_find(shots.begin(), shots.end()) == shots.end());
  }
  CHECK(drawn[2] == 0);
  for (const int i : {0, 1, 3, 4, 5}) CHECK(std::abs(drawn[i] - 360) < 60);  // 5 sigma
  CHECK(draw_shots(100, 4, 5, 1) != draw_shots(100, 5, 5, 1));
  CHECK(draw_shots(3, 1, 2, 7).size() == 2);
  CHECK(draw_shots(1, 0, 0, 7).empty());
  CHECK_THROWS_WITH_AS(draw_shots(3, 1, 3, 7), "of 3 examples, no 3 others can be shown; ask for fewer shots",
                       Error);
}

TEST_CASE("white space at the context's end belongs to the continuation") {
  const nn::Tokenizer tokenizer = bytes_tokenizer();
  for (const Prompt& prompt : {Prompt{"aa", " bc"}, Prompt{"aa ", "bc"}}) {
    const auto encoded = encode_prompt(prompt, tokenizer, 16);
    REQUIRE(encoded);
    CHECK(encoded->tokens == std::vector<int>{'a', 'a', 256, 'c'});
    CHECK(encoded->scored == 2);
    CHECK_FALSE(encoded->cut);
  }
  CHECK(encode_prompt({"aa \n", "bc"}, tokenizer, 16)->scored == 4);
}

TEST_CASE("a start token stands in front and is not scored") {
  const auto encoded = encode_prompt({"a", " b"}, bytes_tokenizer(true), 16);
  CHECK(encoded->tokens == std::vector<int>{257, 'a', 256});
  CHECK(encoded->scored == 1);
}

TEST_CASE("what is longer than the model reads is cut from the left, the continuation never") {
  const nn::Tokenizer tokenizer = bytes_tokenizer();
  const Prompt prompt{"abcd", "efg"};
  CHECK(encode_prompt(prompt, tokenizer, 6)->tokens.size() == 7);  // the last token is predicted, not read
  CHECK_FALSE(encode_prompt(prompt, tokenizer, 6)->cut);
  const auto cut = encode_prompt(prompt, tokenizer, 5);
  CHECK(cut->tokens == std::vector<int>{'b', 'c', 'd', 'e', 'f', 'g'});
  CHECK(cut->scored == 3);
  CHECK(cut->cut);
  CHECK(encode_prompt(prompt, tokenizer, 3)->tokens == std::vector<int>{'d', 'e', 'f', 'g'});
  CHECK_FALSE(encode_prompt(prompt, tokenizer, 2));
}

TEST_CASE("a text that the tokenizer leaves nothing of is refused") {
  CHECK_THROWS_WITH_AS(encode_prompt({" ", "b"}, bytes_tokenizer(), 8),
                       "the tokenizer leaves no token of the context", Error);
  CHECK_THROWS_WITH_AS(encode_prompt({"a", ""}, bytes_tokenizer(), 8),
                       "the tokenizer leaves no token of the continuation", Error);
}

TEST_CASE("the files of five tasks are read, with as many examples as they are published with" *
          doctest::test_suite("external")) {
  const std::pair<const char*, size_t> published[] = {{"lambada_openai", 5153},
                                                      {"arc_easy", 2376},
                                                      {"piqa", 1838},
                                                      {"winogrande", 1267},
                                                      {"winograd_wsc", 273}};
  for (const auto& [name, examples] : published) {
    CAPTURE(name);
    if (const auto path = shared_data(message("eval/", name, ".jsonl")))
      CHECK(read_task(harness_task_named(name), *path).size() == examples);
  }
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Gives the likelihoods of a list, one after another; the greedy ones are those above -1.
struct ListScorer {
  std::vector<double> likelihoods;
  int context = 64;
  std::vector<std::string> shown = {};  // every text

  std::vector<Score> operator()(std::span<const ScoredText> texts) {
    std::vector<Score> scores;
    for (const ScoredText& text : texts) {
      const double likelihood = likelihoods.at(shown.size());
      scores.push_back({.scored = 1, .correct = likelihood > -1, .log_likelihood = likelihood});
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

HarnessScores score(const HarnessTask& task, const std::string& lines, ListScorer& scorer,
                    const HarnessOptions& options = {}) {
  return score_task(task, parse_task(task, lines, "file"), "file", kBytewise, scorer.context,
                    std::ref(scorer), options);
}

TEST_CASE("acc takes the likeliest choice, acc_norm the likeliest by character, the first of equals") {
  // By character: -1 and -3; -2 and -1; -1 and -1.
  ListScorer scorer{{-4, -3, -8, -1, -4, -1, -2, -2}};
  const HarnessScores scores = score(kPiqa, answer_lines(4), scorer);
  CHECK(scores.scored() == 4);
  const auto metrics = harness_metrics(kPiqa, scores, 256);
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
  const auto scores = score(kPiqa, R"({"query": "Q", "choices": ["\u00e9\u00e9", "e"], "gold": 0})", scorer);
  CHECK_FALSE(scores.examples[0]->correct);
  CHECK(scores.examples[0]->correct_normalised);  // -2 / 2 against -1.5 / 1
  ListScorer other{{-3.2, -1.5}};                 // by byte, -0.8 would win
  CHECK_FALSE(score(kPiqa, R"({"query": "Q", "choices": ["\u00e9\u00e9", "e"], "gold": 0})", other)
                  .examples[0]
                  ->correct_normalised);
}

TEST_CASE("the last word: greedy accuracy, perplexity, and what uniform tokens would give") {
  const std::string lines = R"({"context": "a", "continuation": "b"})"
                            "\n"
                            R"({"context": "a", "continuation": "bcd"})";
  ListScorer scorer{{-0.5, -2.5}};
  const auto metrics = harness_metrics(kLambada, score(kLambada, lines, scorer), 256);
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
  const auto scores = score(
      kWinogrande, R"({"context_options": ["A so A", "A so B"], "continuation": "ran.", "gold": 1})", scorer);
  CHECK(scores.examples[0]->correct);
  CHECK(scorer.shown == std::vector<std::string>{"A so A ran.", "A so B ran."});
  const auto metrics = harness_metrics(kWinogrande, scores, 256);
  REQUIRE(metrics.size() == 1);
  CHECK(std::isnan(metrics[0].standard_error));  // of one example
}

TEST_CASE("shots come from the whole file, the limit takes its first examples") {
  std::string lines;
  for (const char letter : std::string("abcdef"))
    lines += std::string("{\"context\": \"") + letter + "\", \"continuation\": \"z\"}\n";
  ListScorer scorer{std::vector<double>(2, -1)};
  CHECK(score(kLambada, lines, scorer, {.shots = 5, .limit = 2}).scored() == 2);
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
  const HarnessScores scores = score(kPiqa, lines, scorer);
  CHECK(scores.scored() == 2);
  CHECK_FALSE(scores.examples[1]);
  CHECK(scores.cut == 2);
  CHECK(scorer.shown.back() == "?\nAnswer: b");
  ListScorer none{{}, 3};
  CHECK_REFUSED(harness_metrics(kPiqa, score(kPiqa, answer_lines(2), none), 256),
                "longer than the model's context");
}

TEST_CASE("a likelihood that is no number never wins and is counted") {
  ListScorer scorer{{-9, kNaN, kNaN, -1, kNaN, kNaN}};
  const HarnessScores scores = score(kPiqa, answer_lines(3), scorer);
  CHECK(scores.not_a_number == 4);
  CHECK(scores.examples[0]->correct);
  CHECK_FALSE(scores.examples[1]->correct);
  CHECK_FALSE(scores.examples[2]->correct);
  ListScorer word{{kNaN}};
  const auto metrics =
      harness_metrics(kLambada, score(kLambada, R"({"context": "a", "continuation": "b"})", word), 256);
  CHECK(metrics[0].value == 0);
  CHECK(std::isinf(metrics[1].value));
}

}  // namespace
}  // namespace psm::train
