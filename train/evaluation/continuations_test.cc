#include <algorithm>
#include <cmath>
#include <limits>

#include "attention/reference/polynomial_model.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"
#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {
namespace {

constexpr int kVocab = 13, kContext = 24;

attention::ModelConfig small(attention::AttentionKind attention = attention::AttentionKind::kPowerSoftmax) {
  attention::ModelConfig config{.vocab = kVocab, .context = kContext, .layers = 2, .width = 16, .heads = 2};
  config.ffn = 32, config.attention = attention;
  return config;
}

struct Texts {
  std::vector<std::vector<int>> tokens;
  std::vector<ScoredText> scored;
};

// Makes texts with lengths from 2 to one more than the context.
Texts random_texts(size_t count) {
  Texts texts;
  TrainingRandom random(3);
  for (size_t i = 0; i < count; ++i) {
    std::vector<int>& tokens = texts.tokens.emplace_back(2 + random.integer(kContext));
    for (int& token : tokens) token = static_cast<int>(random.integer(kVocab));
  }
  for (const std::vector<int>& tokens : texts.tokens)
    texts.scored.push_back({tokens, 1 + random.integer(tokens.size() - 1)});
  return texts;
}

// The definition, from the logits of a forward pass in double precision.
Score expected(const attention::ForwardResult& forward, const ScoredText& text) {
  Score score{.scored = text.scored};
  for (size_t i = text.tokens.size() - text.scored; i < text.tokens.size(); ++i) {
    const double* z = forward.logits.data() + (i - 1) * kVocab;
    double sum = 0;
    for (int j = 0; j < kVocab; ++j) sum += std::exp(z[j]);
    score.correct += *std::max_element(z, z + kVocab) == z[text.tokens[i]];
    score.log_likelihood += z[text.tokens[i]] - std::log(sum);
  }
  return score;
}

void check_score(const Score& score, const Score& right) {
  CHECK(score.scored == right.scored);
  CHECK(score.correct == right.correct);
  CHECK(score.log_likelihood == doctest::Approx(right.log_likelihood).epsilon(1e-5));
}

std::span<const int> read(const ScoredText& text) { return text.tokens.first(text.tokens.size() - 1); }

TEST_CASE("the trained model's likelihoods, in batches, are those of its forward pass in double precision") {
  const Texts texts = random_texts(300);
  for (const attention::AttentionKind attention :
       {attention::AttentionKind::kSoftmax, attention::AttentionKind::kPowerSoftmax}) {
    const attention::ModelWeights weights = attention::random_weights(small(attention), 5);
    const auto scores = score_texts(attention::BatchedModel(weights), texts.scored);
    REQUIRE(scores.size() == texts.scored.size());
    int greedy = 0;
    for (size_t i = 0; i < scores.size(); ++i) {
      check_score(scores[i],
                  expected(attention::reference_forward(weights, read(texts.scored[i])), texts.scored[i]));
      greedy += scores[i].greedy();
    }
    CHECK(greedy > 0);
    CHECK(greedy < 300);
  }
}

TEST_CASE("logits that are no numbers give a likelihood that is none") {
  attention::ModelWeights weights = attention::random_weights(small(), 5);
  weights.unembedding[3] = std::numeric_limits<float>::quiet_NaN();
  const Texts texts = random_texts(2);
  for (const Score& score : score_texts(attention::BatchedModel(weights), texts.scored))
    CHECK(std::isnan(score.log_likelihood));
}

TEST_CASE("a model that is no causal language model and a token of another vocabulary are refused") {
  attention::ModelConfig config = small(attention::AttentionKind::kSoftmax);
  config.causal = false;
  const attention::ModelWeights bidirectional = attention::random_weights(config, 1),
                                causal = attention::random_weights(small(), 1);
  const attention::BatchedModel both_ways(bidirectional), model(causal);
  const std::vector<int> tokens = {1, kVocab};
  const ScoredText text{tokens, 1};
  CHECK_REFUSED(score_texts(both_ways, {&text, 1}), "only a causal language model");
  CHECK_REFUSED(score_texts(model, {&text, 1}), "token 13 is not in the model's vocabulary");
}

TEST_CASE("a guess among n equal tokens of b bytes costs log2(n) / b bits a byte") {
  const nn::Tokenizer tokenizer(nn::train_byte_bpe("abab abab abab", {.vocab = 259, .special = {}}), "test");
  const std::vector<int> targets = {tokenizer.encode("abab")[0], -1, tokenizer.encode("a")[0]};
  const Evaluation guess{.scored = 2, .cross_entropy = std::log(256.0)};
  const double bytes = bytes_per_target(targets, tokenizer);
  CHECK(bytes == 2.5);
  CHECK(bits_per_byte(guess, bytes) == doctest::Approx(8 / 2.5));
}

TEST_CASE("characters are a byte each, and where nothing is scored there are none") {
  const auto letters = nn::alphabet_of("ab");
  CHECK(bytes_per_target(std::vector<int>{0, 1, -1, 1}, *letters) == 1);
  CHECK(bytes_per_target(std::vector<int>{-1}, *letters) == 0);
  CHECK(bits_per_byte({}, 0) == 0);
}

}  // namespace
}  // namespace psm::train
