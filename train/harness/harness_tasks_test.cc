#include "train/harness/harness_tasks.h"

#include <algorithm>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/check_fuzz.h"
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

TEST_CASE("a task that is not known names those that are") {
  CHECK_THROWS_WITH_AS(harness_task_named("hellaswag"),
                       "there is no task 'hellaswag'; there are: lambada_openai, arc_easy, arc_challenge, "
                       "piqa, sciq, logiqa, wsc, "
                       "winogrande, winograd_wsc",
                       Error);
}

TEST_CASE("whatever a file holds, its examples have candidates and a right one, or it is refused") {
  nn::BpeSpec spec;
  spec.kind = nn::BpeKind::kAlphabet;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  const nn::Tokenizer bytewise(spec, "bytes");
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
        const auto encoded = encode_prompt(prompt, bytewise, 24);
        PSM_CHECK(!encoded || (encoded->scored > 0 && encoded->scored < encoded->tokens.size()));
      }
    }
  };
  check_fuzz(target);
}

// Bytes, " b" as one token (256), and 257 in front of a text if `starts`.
nn::Tokenizer bytes_tokenizer(bool starts = false) {
  nn::BpeSpec spec;
  for (int byte = 0; byte < 256; ++byte) spec.tokens.emplace_back(1, static_cast<char>(byte));
  spec.tokens.emplace_back(" b");
  spec.merges = {{' ', 'b'}};
  spec.added = {{.text = "<s>", .id = 257, .special = true}};
  if (starts) spec.ends.start = 257, spec.ends.end = 257;
  return nn::Tokenizer(spec, "test");
}

TaskExample example(std::vector<std::string> contexts, std::vector<std::string> continuations,
                    size_t gold = 0) {
  TaskExample result;
  result.contexts = std::move(contexts), result.continuations = std::move(continuations), result.gold = gold;
  return result;
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

}  // namespace
}  // namespace psm::train
