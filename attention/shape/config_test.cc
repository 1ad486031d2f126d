#include "attention/shape/config.h"

#include <cmath>
#include <limits>
#include <set>

#include "attention/shape/weights.h"
#include "ckks/base/random/training_random.h"
#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelConfig small() { return {.vocab = 8, .context = 4, .layers = 2, .width = 8, .heads = 2, .ffn = 16}; }

TEST_CASE("a small configuration is accepted and answers its derived sizes") {
  ModelConfig config = small();
  CHECK_NOTHROW(config.validate());
  CHECK(config.head_dim() == 4);
  CHECK(config.rotary_dims() == 0);
  config.rotary_fraction = 1.0;
  CHECK(config.rotary_dims() == 4);
  for (config.power = 2; config.power <= 16; config.power += 2) CHECK_NOTHROW(config.validate());
}

TEST_CASE("the presets become whole with their sizes, and GPT-NeoX's is the default") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    ModelConfig config = preset(family);
    config.vocab = 8, config.context = 5, config.layers = 1, config.width = 16, config.heads = 4,
    config.ffn = 16;
    if (!config.causal) config.classes = 2;
    if (config.separator > 0) config.separator = 7;
    if (config.block == BlockKind::kPreNorm && !config.causal) config.vocab = 0, config.patch_inputs = 9;
    CHECK_NOTHROW(config.validate());
    CHECK(config.is_causal_language_model() == config.causal);
    CHECK(config.outputs(5) == (config.causal ? 5 : 1));
  }
  CHECK(preset("gpt-neox") == ModelConfig{});
  CHECK(preset("gpt2").feed_forward == FeedForwardKind::kGeluTanh);
  CHECK_THROWS_AS(preset("gpt-5"), Error);
}

TEST_CASE("impossible configurations, and parts that do not fit together, are refused with the reason") {
  auto refused = [](const std::string& why, auto change) {
    ModelConfig config = small();
    change(config);
    CHECK_REFUSED(config.validate(), why);
  };
  refused("vocab = 0", [](ModelConfig& c) { c.vocab = 0; });
  refused("layers = -1", [](ModelConfig& c) { c.layers = -1; });
  refused("not a multiple of heads 3", [](ModelConfig& c) { c.heads = 3; });
  for (int power : {-2, 0, 1, 3, 5, 18})
    refused(message("power = ", power, " is not an even number from 2 to 16"),
            [=](ModelConfig& c) { c.power = power; });
  refused("is not a fraction", [](ModelConfig& c) { c.rotary_fraction = 1.5; });
  refused("not a number", [](ModelConfig& c) { c.epsilon = std::numeric_limits<double>::quiet_NaN(); });
  refused("norm_epsilon = 0", [](ModelConfig& c) { c.norm_epsilon = 0; });
  refused("kv_heads 3 does not divide heads 2", [](ModelConfig& c) { c.kv_heads = 3; });
  refused("kv_heads -1", [](ModelConfig& c) { c.kv_heads = -1; });
  refused("a causal classifier", [](ModelConfig& c) { c.classes = 2; });
  refused("classes = 1", [](ModelConfig& c) { c.classes = 1, c.causal = false; });
  refused("a pooler without classes", [](ModelConfig& c) { c.pooler = true; });
  refused("patches without classes", [](ModelConfig& c) { c.patch_inputs = 4, c.vocab = 0; });
  refused("vocab = 8", [](ModelConfig& c) { c.patch_inputs = 4, c.classes = 2, c.causal = false; });
  refused("separator = 3 is no token of a vocabulary of 8, or the model is causal",
          [](ModelConfig& c) { c.separator = 3; });
  refused("separator = 8", [](ModelConfig& c) { c.separator = 8, c.causal = false; });
  refused("SwiGLU with biases", [](ModelConfig& c) { c.feed_forward = FeedForwardKind::kSwiGlu; });
  refused("no room for a patch", [](ModelConfig& c) {
    c.patch_inputs = 4, c.classes = 2, c.causal = false, c.vocab = 0, c.context = 1;
  });
  refused("images of 8191 patches of 524288 numbers", [](ModelConfig& c) {
    c.patch_inputs = 1 << 19, c.classes = 2, c.causal = false, c.vocab = 0, c.context = 8192;
  });
}

template <typename Enum>
void check_names(Enum last) {
  const auto names = names_of(last).names;
  CHECK(names.size() == static_cast<size_t>(last) + 1);
  for (const std::string_view name : names) CHECK(name_of(named<Enum>(name)) == name);
}

TEST_CASE("every name parses back to its value and others are refused") {
  check_names(AttentionKind::kScaledRelu), check_names(PowerForm::kLengthAgnostic);
  check_names(BlockKind::kPostNorm), check_names(NormKind::kRmsNorm);
  check_names(FeedForwardKind::kSwiGlu), check_names(PositionKind::kLearned);
  CHECK_THROWS_AS(named<AttentionKind>("softmix"), Error);
  CHECK_THROWS_AS(named<NormKind>("batch_norm"), Error);
  CHECK_THROWS_AS(named<PowerForm>(""), Error);
}

TEST_CASE("what has no encrypted form is named by its field") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    ModelConfig config = preset(family);
    if (!config.causal) config.classes = 2;
    CAPTURE(family);
    CHECK(config.without_encrypted_form() == "");
    config.attention = AttentionKind::kScaledRelu;
    CHECK(config.without_encrypted_form() == "attention is relu");
  }
  CHECK(preset("roberta").without_encrypted_form() == "classes is 0 where block is post_norm");
  ModelConfig rotary = small();
  rotary.causal = false;
  rotary.width = 16, rotary.heads = 2, rotary.rotary_fraction = 0.5;
  CHECK(rotary.without_encrypted_form() == "causal is false where positions is rotary");
  rotary.rotary_fraction = 0;
  CHECK(rotary.without_encrypted_form() == "");
}

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
