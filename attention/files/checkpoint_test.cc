#include "attention/files/checkpoint.h"

#include <cstring>
#include <fstream>

#include "attention/shape/model_json.h"
#include "attention/testing/small_models.h"
#include "attention/trained/measure.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"

namespace psm::attention {
namespace {

ModelWeights example() {
  ModelConfig config{.vocab = 5, .context = 4, .layers = 2, .width = 8, .heads = 2, .ffn = 12};
  config.epsilon = 0.1, config.form = PowerForm::kStable;
  return random_weights(config, 3);
}

TEST_CASE("a file is read with the same bits at once and layer by layer, and not after it changed") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    CAPTURE(family);
    const std::string path = path_of("layers.safetensors");
    ModelConfig config = small_family(family);
    config.power = 8, config.score_offset = config.block != BlockKind::kParallel;
    Checkpoint checkpoint{.weights = rough_weights(config), .notes = {{"alphabet", "abc"}}};
    checkpoint.ranges = measure_ranges(checkpoint.weights, small_data(config, 6).examples());
    checkpoint.polynomial = {
        .norm_error = 0.1, .inverse_error = 0.2, .gelu_error = 3e-5, .division = DivisionForm::kGoldschmidt};
    if (family != std::string("bert")) checkpoint.polynomial->margin = 1.1;
    save_checkpoint(path, checkpoint);
    const Checkpoint whole = load_checkpoint(path);
    CHECK(whole.weights == checkpoint.weights);
    CHECK(whole.notes == checkpoint.notes);
    CHECK(whole.ranges == checkpoint.ranges);
    CHECK(whole.polynomial == checkpoint.polynomial);
    const Checkpoint opened = load_checkpoint(path, /*whole=*/false);
    CHECK(opened.notes == checkpoint.notes);
    CHECK(opened.ranges == checkpoint.ranges);
    CHECK(opened.polynomial == checkpoint.polynomial);
    CHECK(opened.weights.layers[1].norm2_gamma == checkpoint.weights.layers[1].norm2_gamma);
    ModelWeights weights = opened.weights;
    for (int n : {1, 0}) {
      CHECK(weights.layers[n].wq.empty());
      weights.layers[n] = opened.read_layer(n);
    }
    CHECK(weights == checkpoint.weights);

    const std::string before = read_file(path, 1 << 20);
    checkpoint.weights.layers[1].w_down[5] += 1;
    save_checkpoint(path + "2", checkpoint);
    const std::string after = read_file(path + "2", 1 << 20);
    REQUIRE(after.size() == before.size());
    uint64_t header = 0;
    std::memcpy(&header, before.data(), sizeof header);
    std::fstream in_place(path, std::ios::in | std::ios::out | std::ios::binary);
    in_place.seekp(static_cast<std::streamoff>(8 + header));
    in_place << after.substr(8 + header);
    in_place.close();
    CHECK(opened.read_layer(0) == weights.layers[0]);
    CHECK_REFUSED(opened.read_layer(1), "was changed while it was read");
  }
  std::string damaged = read_file(path_of("layers.safetensors"), 1 << 20);
  damaged.back() ^= 1;
  CHECK_THROWS_AS(load_checkpoint(ByteSource("damaged", damaged), /*whole=*/false), Error);
}

TEST_CASE("the configuration of every family survives its JSON, and one without a field is refused") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    ModelConfig config = small_family(family);
    config.feed_forward = config.biases ? FeedForwardKind::kGeluErf : FeedForwardKind::kSwiGlu;
    CHECK(config_from_json(config_to_json(config), "test") == config);
  }
  const std::string text = config_to_json(example().config);
  CHECK_THROWS_AS(config_from_json(text.substr(0, text.find(",\"block\"")) + "}", "test"), Error);
  const auto refused = [&](const std::string& from, const std::string& to) {
    CHECK_THROWS_AS(config_from_json(replaced(text, from, to), "test"), Error);
  };
  refused("\"norm\":\"layer_norm\"", "\"norm\":\"batch_norm\"");
  refused("\"causal\":true", "\"causal\":1");
  refused("\"kv_heads\":0", "\"kv_heads\":-1");
  refused("\"classes\":0", "\"classes\":2");
}

TEST_CASE("files of another model are refused") {
  const std::string path = path_of("other.safetensors");
  save_checkpoint(path, {example(), {}, {}, {}});
  const nn::Safetensors good = nn::read_safetensors(path);
  auto refused = [&](auto change) {
    nn::Safetensors bad = good;
    change(bad);
    nn::write_safetensors(path, bad);
    CHECK_REFUSED(load_checkpoint(path), path);
  };
  refused([](nn::Safetensors& f) { f.metadata.erase("config"); });
  refused([](nn::Safetensors& f) { f.metadata["config"] = "{}"; });
  for (const auto& [from, to] :
       {std::pair("\"layers\":2", "\"layers\":3"), {"stable\"", "stably\""}, {"\"power\":4", "\"power\":5"}})
    refused([from = std::string(from), to = std::string(to)](nn::Safetensors& f) {
      f.metadata["config"] = replaced(f.metadata["config"], from, to);
    });
  refused([](nn::Safetensors& f) { f.metadata["ranges"] = "{\"residual\":[]}"; });
  refused([](nn::Safetensors& f) { f.tensors.pop_back(); });
  refused([](nn::Safetensors& f) { f.tensors[0].shape = {8, 5}; });
  refused([](nn::Safetensors& f) { f.tensors[0].name = "gpt_neox.embed.weight"; });
}

}  // namespace
}  // namespace psm::attention
