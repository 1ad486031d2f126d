#include <algorithm>

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/harness/harness_tasks.h"

namespace psm::train {
namespace {

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

}  // namespace
}  // namespace psm::train
