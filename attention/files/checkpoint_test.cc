#include "attention/files/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "attention/files/stored_tensors.h"
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

TEST_CASE("a configuration without a field, or with a wrong one, is refused") {
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

const nn::NamedTensor& named(const std::vector<nn::NamedTensor>& tensors, const std::string& name) {
  const auto found = std::find_if(tensors.begin(), tensors.end(),
                                  [&](const nn::NamedTensor& tensor) { return tensor.name == name; });
  REQUIRE_MESSAGE(found != tensors.end(), name);
  return *found;
}

ModelWeights taken(nn::Safetensors file, const ModelConfig& config) {
  ModelWeights weights;
  weights.config = config;
  take_stored_tensors(file, weights, "here");
  weights.validate();
  CHECK(file.tensors.empty());
  return weights;
}

TEST_CASE("a matrix of one row stays a matrix") {
  ModelConfig config = preset("llama");
  config.vocab = 1, config.context = 4, config.layers = 1, config.width = 2, config.heads = 1, config.ffn = 1;
  const auto tensors = stored_tensors(random_weights(config, 1));
  CHECK(named(tensors, "lm_head.weight").shape == std::vector<int64_t>{1, 2});
  CHECK(named(tensors, "model.layers.0.mlp.up_proj.weight").shape == std::vector<int64_t>{1, 2});
}

TEST_CASE("what no family has is stored under our own name") {
  ModelConfig config = small_family("gpt-neox");
  config.positions = PositionKind::kLearned, config.kv_heads = 2, config.score_offset = true;
  const ModelWeights weights = random_weights(config, 1);
  nn::Safetensors file;
  file.tensors = stored_tensors(weights);
  CHECK(named(file.tensors, "psm.position_embedding").shape == std::vector<int64_t>{9, 16});
  CHECK(named(file.tensors, "psm.layers.1.wk").shape == std::vector<int64_t>{8, 16});
  CHECK(named(file.tensors, "psm.layers.1.score_offset").shape == std::vector<int64_t>{4});
  CHECK(taken(file, config) == weights);
}

TEST_CASE("one line tells which tensors are missing and which are unknown") {
  const ModelWeights weights = random_weights(small_family("gpt-neox"), 3);
  nn::Safetensors file;
  file.tensors = stored_tensors(weights);
  file.tensors[0].name = "gpt_neox.embed.weight";
  file.tensors.pop_back();
  file.skipped.push_back({"mask", "BOOL", {2}});
  CHECK_THROWS_WITH_AS(
      taken(file, weights.config),
      "here: the tensors are not those of a gpt-neox model with this configuration: 2 missing "
      "(gpt_neox.embed_in.weight, gpt_neox.layers.1.attention.query_key_value.bias), 2 unknown "
      "(gpt_neox.embed.weight, mask of type BOOL); give the configuration that belongs to the file",
      Error);
  file.tensors = stored_tensors(random_weights(small_family("llama"), 3));
  CHECK_REFUSED(taken(file, weights.config), "28 missing (embed_out.weight, ");
}

TEST_CASE("a wrong shape is refused, and more layers than tensors before any is made") {
  const ModelWeights weights = random_weights(small_family("roberta"), 3);
  nn::Safetensors file;
  file.tensors = stored_tensors(weights);
  std::swap(file.tensors[0].shape[0], file.tensors[0].shape[1]);
  CHECK_REFUSED(taken(file, weights.config), "has shape [16, 11] where the model needs [11, 16]");
  ModelConfig config = weights.config;
  config.layers = 1 << 20;
  CHECK_REFUSED(taken(file, config), "which does not fit 1048576 layers");
}

}  // namespace
}  // namespace psm::attention
