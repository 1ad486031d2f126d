#include "train/data/labelled_text_data.h"

#include <set>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

// A token a byte.
class Bytes final : public nn::Tokenizer {
 public:
  int vocab() const override { return 256; }
  std::vector<int> encode(std::string_view text) const override {
    return {reinterpret_cast<const unsigned char*>(text.data()),
            reinterpret_cast<const unsigned char*>(text.data()) + text.size()};
  }
  std::string decode(std::span<const int> tokens) const override { return {tokens.begin(), tokens.end()}; }
  std::string bytes(int token) const override { return std::string(1, static_cast<char>(token)); }
};

const std::vector<LabelledText> kTraining = {{"ab", 0}, {"abb", 1}, {"bca", 0}};
const std::vector<LabelledText> kHeldOut = {{"aac", 1}, {"b", 0}};

TEST_CASE("the vocabulary is what enough training texts have; texts are filled up to the longest") {
  const LabelledTextData data(kTraining, kHeldOut, std::make_shared<Bytes>(),
                              {.context = 6, .least_texts = 2}, "letters");
  // <s> 0, </s> 1, <unk> 2, then " ", a, b; c is in one text alone.
  CHECK(data.vocab() == 6);
  CHECK(data.classes() == 2);
  const Batch batch = data.validation(5);
  CHECK(batch.length == 6);
  CHECK(batch.tokens == std::vector<int>{0, 3, 4, 4, 2, 1, 0, 3, 5, 1, 1, 1});
  CHECK(batch.lengths == std::vector<int>{6, 4});
  CHECK(batch.targets == std::vector<int>{1, 0});
  CHECK(data.validation(1).sequences == 1);
}

TEST_CASE("a text longer than the context loses its end, not its last token") {
  const LabelledTextData data(kTraining, kHeldOut, std::make_shared<Bytes>(),
                              {.context = 4, .least_texts = 1}, "letters");
  const Batch batch = data.validation(1);
  CHECK(batch.tokens == std::vector<int>{0, 3, 4, 1});
}

TEST_CASE("training texts alone are drawn, each with its label, and batches end with their longest") {
  const LabelledTextData data(kTraining, kHeldOut, std::make_shared<Bytes>(),
                              {.context = 6, .least_texts = 1}, "letters");
  std::set<std::pair<std::vector<int>, int>> seen;
  std::set<int> lengths;
  TrainingRandom random(1);
  Batch batch;
  for (int i = 0; i < 50; ++i) {
    data.draw(2, random, batch);
    lengths.insert(batch.length);
    CHECK(batch.length == std::max(batch.lengths[0], batch.lengths[1]));
    const auto texts = batch.texts();
    for (int s = 0; s < 2; ++s) seen.insert({texts[s], batch.targets[s]});
  }
  CHECK(lengths == std::set<int>{5, 6});
  // Tokens from 3: " ", a, b, c.
  CHECK(seen == std::set<std::pair<std::vector<int>, int>>{
                    {{0, 3, 4, 5, 1}, 0}, {{0, 3, 4, 5, 5, 1}, 1}, {{0, 3, 5, 6, 4, 1}, 0}});
}

TEST_CASE("the description tells labels and tokens apart; what cannot be trained on is refused") {
  const auto described = [](std::vector<LabelledText> training) {
    return LabelledTextData(training, kHeldOut, std::make_shared<Bytes>(), {}, "letters").description();
  };
  CHECK(described(kTraining) == described(kTraining));
  CHECK(described({{"ab", 1}, {"abb", 1}, {"bca", 0}}) != described(kTraining));
  CHECK(described({{"ba", 0}, {"abb", 1}, {"bca", 0}}) != described(kTraining));
  CHECK_THROWS_AS(described({}), Error);
  CHECK_THROWS_AS(described({{"a", -1}}), Error);
  CHECK_THROWS_AS(LabelledTextData(kTraining, {}, std::make_shared<Bytes>(), {}, "none"), Error);
  CHECK_THROWS_AS(LabelledTextData({{"a", 0}}, {{"b", 0}}, std::make_shared<Bytes>(), {}, "one class"),
                  Error);
}

}  // namespace
}  // namespace psm::train
