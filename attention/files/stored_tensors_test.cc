#include "attention/files/stored_tensors.h"

#include <algorithm>

#include "ckks/base/testing/check.h"

namespace psm::attention {
namespace {

ModelWeights tiny(std::string_view family) {
  ModelConfig config = preset(family);
  config.vocab = 5, config.context = 4, config.layers = 2, config.width = 8, config.heads = 4,
  config.ffn = 12;
  if (family == "roberta") config.classes = 3;
  return random_weights(config, 3);
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
  ModelWeights weights = tiny("gpt-neox");
  ModelConfig config = weights.config;
  config.positions = PositionKind::kLearned, config.kv_heads = 2, config.score_offset = true;
  weights = random_weights(config, 1);
  nn::Safetensors file;
  file.tensors = stored_tensors(weights);
  CHECK(named(file.tensors, "psm.position_embedding").shape == std::vector<int64_t>{4, 8});
  CHECK(named(file.tensors, "psm.layers.1.wk").shape == std::vector<int64_t>{4, 8});
  CHECK(named(file.tensors, "psm.layers.1.score_offset").shape == std::vector<int64_t>{4});
  CHECK(taken(file, config) == weights);
}

TEST_CASE("one line tells which tensors are missing and which are unknown") {
  const ModelWeights weights = tiny("gpt-neox");
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
  file.tensors = stored_tensors(tiny("llama"));
  CHECK_REFUSED(taken(file, weights.config), "28 missing (embed_out.weight, ");
}

TEST_CASE("a wrong shape is refused, and more layers than tensors before any is made") {
  const ModelWeights weights = tiny("roberta");
  nn::Safetensors file;
  file.tensors = stored_tensors(weights);
  std::swap(file.tensors[0].shape[0], file.tensors[0].shape[1]);
  CHECK_REFUSED(taken(file, weights.config), "has shape [8, 5] where the model needs [5, 8]");
  ModelConfig config = weights.config;
  config.layers = 1 << 20;
  CHECK_REFUSED(taken(file, config), "which does not fit 1048576 layers");
}

}  // namespace
}  // namespace psm::attention
