#include "attention/trained/generate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/key_value_cache.h"
#include "attention/trained/model.h"
#include "ckks/base/error.h"
#include "ckks/base/testing/threads.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

ModelWeights tiny(ModelConfig config) {
  config.vocab = 11, config.context = 12, config.layers = 2, config.width = 16, config.heads = 4,
  config.ffn = 24;
  return random_weights(config, 5);
}

std::vector<ModelWeights> causal_models() {
  ModelConfig grouped = preset("llama");
  grouped.kv_heads = 2, grouped.attention = AttentionKind::kSoftmax;
  return {tiny({}), tiny(grouped),
          tiny({.attention = AttentionKind::kScaledRelu, .positions = PositionKind::kLearned}),
          tiny({.block = BlockKind::kPreNorm, .feed_forward = FeedForwardKind::kGeluErf}),
          tiny({.score_offset = true})};
}

TEST_CASE("reading token by token gives the logits of the whole sequence, in every causal architecture") {
  const std::vector<int> tokens = {3, 0, 7, 7, 10, 2, 5, 1}, others = {1, 9, 4, 4, 0, 8, 3, 6};
  for (const ModelWeights& weights : causal_models()) {
    std::vector<float> flat = flatten(weights);
    std::vector<double> values(flat.begin(), flat.end()), grads(values.size());
    const Model<double> model(weights.config, values.data(), grads.data());
    KeyValueCache<double> past(weights.config, 2, 8);
    nn::Tape<double> tape;
    ForwardTensors<double> out;
    const ForwardResult expected = reference_forward(weights, tokens),
                        second = reference_forward(weights, others);
    for (size_t t = 0; t < tokens.size(); ++t) {
      const int next[] = {tokens[t], others[t]};
      tape.restart();
      model.read_next(tape, next, past, out);
      for (size_t j = 0; j < 11; ++j) {
        CHECK(out.logits.row(0)[j] == doctest::Approx(expected.logits[t * 11 + j]).epsilon(1e-9));
        CHECK(out.logits.row(1)[j] == doctest::Approx(second.logits[t * 11 + j]).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("tokens are drawn as often as softmax says") {
  const std::vector<float> logits = {0.0f, 0.5f, 1.0f, -0.5f};
  TrainingRandom random(3);
  std::map<int, double> seen;
  for (int i = 0; i < 20000; ++i) seen[sample_token(logits, random)] += 1 / 20000.0;
  const double total = 1 + std::exp(0.5) + std::exp(1.0) + std::exp(-0.5);
  CHECK(seen[0] == doctest::Approx(1 / total).epsilon(0.05));
  CHECK(seen[2] == doctest::Approx(std::exp(1.0) / total).epsilon(0.05));
}

TEST_CASE("texts are drawn from the reference's distribution behind the tokens before") {
  ModelWeights weights = tiny({});
  for (float& x : weights.unembedding) x *= 1000;  // one token takes all
  const auto texts = generate(weights, 4, 2, 7, 1);
  std::vector<int> expected = {4};
  while (expected.size() < 7) {
    const ForwardResult result = reference_forward(weights, expected);
    expected.push_back(static_cast<int>(std::max_element(result.logits.end() - 11, result.logits.end()) -
                                        (result.logits.end() - 11)));
  }
  CHECK(texts == std::vector<std::vector<int>>(2, expected));
}

TEST_CASE("the same seed gives the same text for any number of threads, another seed another") {
  const ModelWeights weights = tiny({});
  const auto one = same_for_any_threads([&] { return generate(weights, 1, 70, 12, 4); });
  CHECK(generate(weights, 1, 70, 12, 5) != one);
  CHECK(one[0] != one[1]);
  CHECK(std::all_of(one.begin(), one.end(), [](const auto& text) { return text.size() == 12; }));
}

TEST_CASE("a token, a length or a model that cannot be is refused") {
  const ModelWeights weights = tiny({});
  CHECK_THROWS_AS(generate(weights, 11, 1, 5, 1), Error);
  CHECK_THROWS_AS(generate(weights, 1, 1, 13, 1), Error);
  CHECK_THROWS_AS(generate(tiny({.causal = false}), 1, 1, 5, 1), Error);
}

}  // namespace
}  // namespace psm::attention
