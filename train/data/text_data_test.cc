#include "train/data/text_data.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer_json.h"
#include "train/data/masked_text_data.h"

namespace psm::train {
namespace {

TEST_CASE("windows predict the next byte and training never sees the held-out part") {
  std::string text(1000, 'a');
  for (int i = 0; i < 900; ++i) text[i] = static_cast<char>('b' + i % 3);
  for (int i = 900; i < 1000; ++i) text[i] = static_cast<char>('x' + i % 2);
  const TextData data(text, 8);
  CHECK(data.training_tokens() == 900);
  TrainingRandom random(3);
  const Batch batch = data.draw(500, random);
  CHECK(batch.scored() == 500 * 8);
  for (int s = 0; s < 500; ++s)
    for (int i = 0; i < 8; ++i) {
      CHECK(batch.tokens[s * 8 + i] < 3);
      CHECK(batch.targets[s * 8 + i] == (batch.tokens[s * 8 + i] + 1) % 3);
    }
  const Batch validation = data.validation(1000);
  CHECK(validation.sequences == 12);
  for (int token : validation.tokens) CHECK(token >= 3);
  CHECK(data.validation(4).sequences == 4);
}

TEST_CASE("a second text is held out whole, and its bytes are in the alphabet") {
  const TextData data(std::string(50, 'a') + std::string(50, 'b'), std::string(40, 'c'), 8);
  CHECK(data.vocab() == 3);
  CHECK(data.training_tokens() == 100);
  CHECK(data.held_out_tokens() == 40);
  TrainingRandom random(3);
  const Batch batch = data.draw(500, random);
  for (int token : batch.targets) CHECK(token < 2);
  for (int token : data.validation(1000).tokens) CHECK(token == 2);
  const TextData other(std::string(50, 'a') + std::string(50, 'b'), std::string(40, 'd'), 8);
  CHECK(data.description() != other.description());
}

TEST_CASE("a tokenizer's tokens take the place of characters, and what is held out begins at a character") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the th\u00e9 ";  // 9 bytes each
  const auto bpe = std::make_shared<const nn::Tokenizer>(nn::train_byte_bpe(text, {.vocab = 262}), "test");
  for (const size_t more : {0, 20}) {  // of 920 bytes a tenth begins in the middle of a character
    text.insert(0, more, 'x');
    const TextData data(text, 8, bpe);
    CHECK(data.vocab() == 262);
    CHECK(data.tokenizer() == bpe);
    CHECK(data.training_tokens() + data.held_out_tokens() < text.size() / 2);
    const Batch batch = data.validation(1);
    const std::vector<int> tokens(batch.tokens.begin(), batch.tokens.end());
    CHECK(text.find(bpe->decode(tokens), text.size() - text.size() / 8) != std::string::npos);
    CHECK(std::equal(tokens.begin() + 1, tokens.end(), batch.targets.begin()));
  }
}

TEST_CASE("the description tells tokenizers apart, and the text's own alphabet says nothing new") {
  const std::string text(100, 'a');
  const auto own = nn::alphabet_of("a"), larger = nn::alphabet_of("ab");
  CHECK(TextData(text, 2, own).description() == TextData(text, 2).description());
  CHECK(TextData(text, 2, larger).description() != TextData(text, 2).description());
  CHECK_THROWS_AS(TextData(text, 2, nn::alphabet_of("b")), Error);
}

TEST_CASE("texts that are too short or empty are refused") {
  CHECK_THROWS_AS(TextData("", 64), Error);
  CHECK_THROWS_AS(TextData("short", 64), Error);
  CHECK_THROWS_AS(TextData(std::string(1000, 'a'), 0), Error);
  CHECK_THROWS_AS(TextData(std::string(1000, 'a'), "short", 64), Error);
  CHECK_THROWS_AS(TextData("short", std::string(1000, 'a'), 64), Error);
}

// Letters a to z as tokens 1 to 26, the end of a line as 27; 0 begins a text.
nn::Tokenizer letters() {
  nn::BpeSpec spec;
  spec.kind = nn::BpeKind::kAlphabet;
  for (const char c : std::string("^abcdefghijklmnopqrstuvwxyz\n")) spec.tokens.emplace_back(1, c);
  spec.ends.start = 0;
  return nn::Tokenizer(std::move(spec), "letters");
}

TEST_CASE("lines that mark an end separate documents, white space alone is none") {
  using Texts = std::vector<std::string_view>;
  CHECK(split_documents("one\ntwo\n") == Texts{"one\ntwo\n"});
  CHECK(split_documents("one\n<|endoftext|>\ntwo") == Texts{"one\n", "two"});
  CHECK(split_documents("one\r\n<|endoftext|>\r\n\n<|endoftext|>\ntwo\n<|endoftext|>") ==
        Texts{"one\r\n", "two\n"});
  CHECK(split_documents("a <|endoftext|> b") == Texts{"a <|endoftext|> b"});
  CHECK(split_documents("one\n<|endoftext|>\n\n two\n") == Texts{"one\n", "two\n"});
  CHECK(split_documents("").empty());
  CHECK(split_documents(" \n").empty());
}

TEST_CASE("a document is encoded behind the token that begins a text") {
  CHECK(encode_documents("ab\n<|endoftext|>\nc", letters()) ==
        std::vector<std::vector<int>>{{0, 1, 2, 27}, {0, 3}});
}

TEST_CASE("every token but the first of a document is predicted once, whatever the context") {
  const std::vector<std::vector<int>> documents = {{0, 1, 2, 3, 4, 5, 6}, {7}, {8, 9}};
  const auto windows = [&](int context) {
    std::vector<std::vector<int>> copies;
    for (const auto window : document_windows(documents, context))
      copies.emplace_back(window.begin(), window.end());
    return copies;
  };
  using Windows = std::vector<std::vector<int>>;
  CHECK(windows(100) == Windows{{0, 1, 2, 3, 4, 5, 6}, {8, 9}});
  CHECK(windows(4) == Windows{{0, 1, 2, 3, 4}, {4, 5, 6}, {8, 9}});
  CHECK(windows(3) == Windows{{0, 1, 2, 3}, {3, 4, 5, 6}, {8, 9}});
  CHECK(windows(1).size() == 7);
}

TEST_CASE("documents in which nothing follows are refused") {
  const std::vector<std::vector<int>> documents = {{5}, {}};
  CHECK_THROWS_AS(document_windows(documents, 4), Error);
}

constexpr int kStart = 2, kEnd = 3, kMask = 4, kFirst = 5, kLetters = 4;

std::shared_ptr<const nn::Tokenizer> masking_letters(const std::string& mask = "[MASK]\n") {
  const std::string vocabulary = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n" + mask + "a\nb\nc\nd\n";
  return std::make_shared<const nn::Tokenizer>(nn::spec_from_vocabulary(vocabulary, "", "test"), "test");
}

// a b c d a b ..
std::string cycle(int words) {
  std::string text;
  for (int n = 0; n < words; ++n) text += std::string(1, static_cast<char>('a' + n % kLetters)) + " ";
  return text;
}

TEST_CASE("windows are enclosed as two texts; few tokens are scored, and most of these are hidden") {
  const MaskedTextData data(TextData(cycle(1000), 13, masking_letters()));
  REQUIRE(data.context() == 16);
  TrainingRandom random(1);
  const Batch batch = data.draw(500, random);
  REQUIRE(batch.length == 16);
  REQUIRE(batch.tokens.size() == 500 * 16);
  int hidden = 0, kept = 0;
  for (int s = 0; s < 500; ++s) {
    const int* const tokens = &batch.tokens[s * 16];
    const int* const targets = &batch.targets[s * 16];
    CHECK(tokens[0] == kStart);
    CHECK(tokens[7] == kEnd);
    CHECK(tokens[15] == kEnd);
    int begin = -1;  // of the cycle
    for (int t = 1, place = 0; t < 15; ++t) {
      if (t == 7) continue;
      const int token = targets[t] >= 0 ? targets[t] : tokens[t];
      const int expected = (token - kFirst - place++ % kLetters + kLetters) % kLetters;
      CHECK(token >= kFirst);
      if (begin < 0) begin = expected;
      CHECK(expected == begin);
      if (targets[t] < 0) continue;
      hidden += tokens[t] == kMask;
      kept += tokens[t] == targets[t];
    }
    for (const int t : {0, 7, 15}) CHECK(targets[t] == -1);
  }
  // Standard deviations are 0.0045, 0.013 and 0.011.
  const auto scored = static_cast<double>(batch.scored());
  CHECK(scored / (500 * 13) == doctest::Approx(0.15).scale(0).epsilon(0.2));
  // A token that is changed is a mask, or what it was, one time in nine each.
  CHECK(hidden / scored == doctest::Approx(0.8 + 0.1 / 9).scale(0).epsilon(0.1));
  CHECK(kept / scored == doctest::Approx(0.1 + 0.1 / 9).scale(0).epsilon(0.7));
}

TEST_CASE("validation hides the same tokens of the held-out part at each call") {
  const TextData text(cycle(100), "d d d d d d d d d d d d d d d d", 5, masking_letters());
  const MaskedTextData data(text);
  const Batch batch = data.validation(3), again = data.validation(3);
  CHECK(batch.sequences == 3);
  CHECK(batch.tokens == again.tokens);
  CHECK(batch.targets == again.targets);
  for (const int target : batch.targets) CHECK((target == -1 || target == kFirst + 3));
  CHECK(data.description() == "masked " + text.description());
}

TEST_CASE("a tokenizer without a mask, or without tokens around a text, is refused") {
  CHECK_THROWS_WITH_AS(MaskedTextData(TextData(cycle(100), 5, masking_letters(""))),
                       doctest::Contains("[MASK]"), Error);
  CHECK_THROWS_WITH_AS(MaskedTextData(TextData(cycle(100), 5)), doctest::Contains("[MASK]"), Error);
}

}  // namespace
}  // namespace psm::train
