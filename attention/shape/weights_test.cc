#include "attention/shape/weights.h"

#include <cmath>
#include <limits>
#include <set>

#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelConfig small() { return {.vocab = 8, .context = 4, .layers = 2, .width = 8, .heads = 2, .ffn = 16}; }

TEST_CASE("a context is cut with its learned positions, and grows where positions rotate") {
  ModelWeights rotary = random_weights(small(), 1);
  set_context(rotary, 9, true);
  CHECK(rotary.config.context == 9);
  CHECK_NOTHROW(rotary.validate());
  CHECK_REFUSED(set_context(rotary, 10, false), "10 tokens of a context of 9");

  ModelConfig learned = small();
  learned.positions = PositionKind::kLearned;
  ModelWeights table = random_weights(learned, 1);
  const std::vector<float> rows = table.position_embedding;
  CHECK_REFUSED(set_context(table, 5, true), "learned 4 positions and none for 5");
  set_context(table, 3, true);
  CHECK(table.config.context == 3);
  CHECK(table.position_embedding == std::vector<float>(rows.begin(), rows.begin() + 3 * 8));
  CHECK_NOTHROW(table.validate());
}

TEST_CASE("random weights have the configuration's sizes, distinct names and validate") {
  const ModelWeights weights = random_weights(small(), 1);
  CHECK_NOTHROW(weights.validate());
  CHECK(weights.parameters() == 2 * 8 * 8 + 2 * 8 + 2 * (4 * 8 + 4 * (64 + 8) + 2 * 16 * 8 + 16 + 8));
  std::set<std::string> names;
  for_each_parameter(weights, [&](const std::string& name, const auto&, int, int) { names.insert(name); });
  CHECK(names.size() == 2 * 16 + 4);
  CHECK(weights.layers[1].wq == random_weights(small(), 1).layers[1].wq);
  CHECK(weights.layers[1].wq != random_weights(small(), 2).layers[1].wq);
  ModelConfig offsets = small();
  offsets.score_offset = true;
  CHECK(random_weights(offsets, 1).layers[0].score_offset == std::vector<float>{4, 4});  // p
}

TEST_CASE("a fresh classifier takes the place of an encoder's unembedding, or of another classifier") {
  ModelConfig config = preset("bert");
  config.vocab = 200, config.context = 4, config.layers = 1, config.width = 8, config.heads = 2,
  config.ffn = 16;
  config.pooler = false;
  ModelWeights weights = random_weights(config, 1);
  const ModelWeights before = weights;
  for (const int classes : {2, 3}) {
    give_classifier(weights, classes, 5);
    CHECK_NOTHROW(weights.validate());
    CHECK(weights.config.pooler);
    CHECK(weights.class_weight.size() == static_cast<size_t>(classes) * 8);
    CHECK(weights.class_weight == random_weights(weights.config, 5).class_weight);
  }
  CHECK(weights.embedding == before.embedding);
  CHECK(weights.layers == before.layers);
  ModelWeights causal = random_weights(small(), 1);
  CHECK_THROWS_WITH_AS(give_classifier(causal, 2, 5), doctest::Contains("causal"), Error);
}

TEST_CASE("layers are drawn one by one from one stream, in every family") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    ModelConfig config = preset(family);
    config.vocab = 300, config.context = 5, config.layers = 3, config.width = 80, config.heads = 4;
    config.ffn = 320;
    if (config.patch_inputs > 0) config.vocab = 0, config.patch_inputs = 12;
    if (!config.causal) config.classes = 3;
    const ModelWeights all = random_weights(config, 7);
    ModelWeights pieces = random_ends(config, 7);
    CHECK(pieces.layers[2].wq.empty());
    CHECK(pieces.layers[2].norm1_gamma == all.layers[2].norm1_gamma);
    for (int n : {2, 0, 1}) pieces.layers[n] = random_layer(config, 7, n);
    CHECK(pieces == all);
    uint64_t drawn = 0;
    for_each_parameter(all, [&](const std::string&, const std::vector<float>& values, int, int) {
      if (values != std::vector<float>(values.size(), values[0])) drawn += values.size();
    });
    TrainingRandom random(7);
    double last = 0;
    for (uint64_t i = 0; i < drawn; ++i) last = random.normal();
    CHECK((config.classes > 0 ? all.class_weight : all.unembedding).back() ==
          static_cast<float>(1.0 / std::sqrt(80.0) * last));
  }
}

TEST_CASE("weights of another size or with infinities are refused") {
  ModelWeights weights = random_weights(small(), 1);
  weights.layers[0].wo.pop_back();
  CHECK_THROWS_AS(weights.validate(), Error);
  weights = random_weights(small(), 1);
  weights.layers.pop_back();
  CHECK_THROWS_AS(weights.validate(), Error);
  weights = random_weights(small(), 1);
  weights.unembedding[3] = std::numeric_limits<float>::infinity();
  CHECK_THROWS_AS(weights.validate(), Error);
}

}  // namespace
}  // namespace psm::attention
