#include "train/data/masked_text_data.h"

#include <memory>
#include <string>

#include "ckks/base/error.h"
#include "doctest/doctest.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::train {
namespace {

constexpr int kStart = 2, kEnd = 3, kMask = 4, kFirst = 5, kLetters = 4;

std::shared_ptr<const nn::Tokenizer> letters(const std::string& mask = "[MASK]\n") {
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
  const MaskedTextData data(TextData(cycle(1000), 13, letters()));
  REQUIRE(data.context() == 16);
  TrainingRandom random(1);
  Batch batch;
  data.draw(500, random, batch);
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
  const MaskedTextData data(TextData(cycle(100), "d d d d d d d d d d d d d d d d", 5, letters()));
  const Batch batch = data.validation(3), again = data.validation(3);
  CHECK(batch.sequences == 3);
  CHECK(batch.tokens == again.tokens);
  CHECK(batch.targets == again.targets);
  for (const int target : batch.targets) CHECK((target == -1 || target == kFirst + 3));
  CHECK(data.description() ==
        "masked " + TextData(cycle(100), "d d d d d d d d d d d d d d d d", 5, letters()).description());
}

TEST_CASE("a tokenizer without a mask, or without tokens around a text, is refused") {
  CHECK_THROWS_WITH_AS(MaskedTextData(TextData(cycle(100), 5, letters(""))), doctest::Contains("[MASK]"),
                       Error);
  CHECK_THROWS_WITH_AS(MaskedTextData(TextData(cycle(100), 5)), doctest::Contains("[MASK]"), Error);
}

}  // namespace
}  // namespace psm::train
