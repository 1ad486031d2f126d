#include "attention/files/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "attention/reference/polynomial_model.h"
#include "attention/testing/small_models.h"
#include "attention/trained/model.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "nn/files/safetensors.h"

namespace psm::attention {
namespace {

namespace fs = std::filesystem;

std::string fresh_folder() {
  const fs::path folder = path_of("model");
  fs::remove_all(folder);
  fs::create_directories(folder);
  return folder.string();
}

// A folder with this model alone.
std::string folder_of(const ModelWeights& weights, const std::optional<PatchGrid>& images = {}) {
  const std::string folder = fresh_folder();
  write_hugging_face(folder, weights, images);
  return folder;
}

ModelWeights tiny(std::string_view family) {
  ModelConfig config = small_family(family);
  config.width = 8, config.attention = AttentionKind::kSoftmax, config.epsilon = ModelConfig().epsilon;
  if (family == "vit") config.context = 7, config.patch_inputs = 12;
  return random_weights(config, 3);
}

// Values are the same, or close where a conversion rounds.
void check_same(const ModelWeights& read, const ModelWeights& expected, float tolerance) {
  CHECK(read.config == expected.config);
  const std::vector<float> a = flatten(read), b = flatten(expected);
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= tolerance);
}

// Rewrites a folder's tensors.
template <typename Change>
void change_tensors(const std::string& folder, Change change) {
  const std::string path = folder + "/model.safetensors";
  nn::Safetensors file = nn::read_safetensors(path);
  change(file);
  nn::write_safetensors(path, file);
}

// Drops the tensors whose names begin so.
void drop(nn::Safetensors& file, const char* begin) {
  std::erase_if(file.tensors, [&](const auto& tensor) { return tensor.name.starts_with(begin); });
}

// Says in a folder's config.json that the unembedding is the embedding.
void tie(const std::string& folder) {
  write_file(folder + "/config.json",
             replaced(read_file(folder + "/config.json", 1 << 16), "\"tie_word_embeddings\": false",
                      "\"tie_word_embeddings\": true"));
}

constexpr PatchGrid kImages{6, 4, 2, 3};

TEST_CASE("a ViT comes back with the size of its images, and from the files of one without a head") {
  const ModelWeights weights = tiny("vit");
  const std::string folder = folder_of(weights, kImages);
  nn::Safetensors file = nn::read_safetensors(folder + "/model.safetensors");
  CHECK(file.find("vit.embeddings.patch_embeddings.projection.weight")->shape ==
        std::vector<int64_t>{8, 3, 2, 2});
  CHECK(file.find("vit.embeddings.cls_token")->shape == std::vector<int64_t>{1, 1, 8});
  const ImportedModel read = read_hugging_face(folder, {.classes = 3});
  check_same(read.weights, weights, 0.0f);
  REQUIRE(read.images.has_value());
  CHECK(read.images->height == 6);
  CHECK(read.images->width == 4);
  CHECK(read.images->channels == 3);
  CHECK_THROWS_AS(write_hugging_face(folder, weights), Error);
  CHECK_THROWS_AS(write_hugging_face(folder, tiny("llama"), kImages), Error);

  // Another number of classes than the file's: a fresh head on the same body.
  const ImportedModel fresh = read_hugging_face(folder, {.classes = 5});
  CHECK(fresh.weights.class_weight.size() == 5 * 8);
  CHECK(fresh.weights.layers[1].w_down == weights.layers[1].w_down);

  change_tensors(folder, [](nn::Safetensors& content) {
    drop(content, "classifier.");
    for (nn::NamedTensor& tensor : content.tensors) tensor.name.erase(0, 4);
    content.tensors.push_back({"pooler.dense.bias", {8}, std::vector<float>(8)});
  });
  const ImportedModel bare = read_hugging_face(folder);
  CHECK(bare.ignored == std::vector<std::string>{"pooler.dense.bias"});
  CHECK(bare.weights.config.classes == 2);
  CHECK(bare.weights.class_token == weights.class_token);

  write_file(folder + "/preprocessor_config.json", R"({"image_mean": [0.5, 0.5, 0.5], "image_std": [0.5]})");
  CHECK(read_hugging_face(folder).weights.class_token == weights.class_token);
  write_file(folder + "/preprocessor_config.json", R"({"image_mean": [0.485, 0.456, 0.406]})");
  CHECK_REFUSED(read_hugging_face(folder), "image_mean is not 0.5");
}

TEST_CASE("a model of every family comes back from transformers' files") {
  for (const char* family : {"gpt-neox", "gpt2", "llama", "bert", "roberta"}) {
    CAPTURE(family);
    const ModelWeights weights = tiny(family);
    const ImportedModel read = read_hugging_face(folder_of(weights));
    check_same(read.weights, weights, weights.config.pooler ? 1e-6f : 0.0f);
    CHECK(read.ignored.empty());
  }
}

TEST_CASE("a model of sentence-transformers answers with the mean of a text's tokens, of length 1") {
  const std::string folder = folder_of(tiny("bert")), pooling = folder + "/1_Pooling/config.json";
  fs::create_directories(folder + "/1_Pooling");
  write_file(pooling, R"({"word_embedding_dimension": 8, "pooling_mode_cls_token": false,
                          "pooling_mode_mean_tokens": true})");
  const ImportedModel read = read_hugging_face(folder);
  CHECK(read.ignored.size() == 4);  // of pooler and classifier
  const ForwardResult result = reference_forward(read.weights, std::vector<int>{1, 2, 3});
  double mean[8] = {}, squares = 0;
  for (size_t i = 0; i < 24; ++i) mean[i % 8] += result.hidden[i] / 3;
  for (const double m : mean) squares += m * m;
  REQUIRE(result.logits.size() == 8);
  for (size_t f = 0; f < 8; ++f)
    CHECK(result.logits[f] == doctest::Approx(mean[f] / std::sqrt(squares)).epsilon(1e-6));
  CHECK_REFUSED(write_hugging_face(folder, read.weights), "no such bert model");

  const ModelConfig to_train = read_hugging_face(folder, {.classes = 3}).weights.config;
  CHECK(to_train.classes == 3);
  CHECK(to_train.mean_pooling);
  write_file(pooling, R"({"pooling_mode_cls_token": true})");
  CHECK_REFUSED(read_hugging_face(folder), "pooling_mode_cls_token is true");
}

TEST_CASE("buffers of older versions are ignored and named, other tensors refused by name") {
  const ModelWeights weights = tiny("gpt-neox");
  const std::string folder = folder_of(weights);
  change_tensors(folder, [](nn::Safetensors& file) {
    file.tensors.push_back({"gpt_neox.layers.0.attention.rotary_emb.inv_freq", {1}, {1}});
    file.tensors.push_back({"gpt_neox.layers.0.attention.masked_bias", {}, {-1e9f}});
  });
  const ImportedModel read = read_hugging_face(folder);
  CHECK(read.ignored == std::vector<std::string>{"gpt_neox.layers.0.attention.rotary_emb.inv_freq",
                                                 "gpt_neox.layers.0.attention.masked_bias"});
  check_same(read.weights, weights, 0.0f);
  change_tensors(folder, [](nn::Safetensors& file) { file.tensors[0].name = "gpt_neox.embed.weight"; });
  CHECK_REFUSED(read_hugging_face(folder),
                "1 missing (gpt_neox.embed_in.weight), 1 unknown (gpt_neox.embed.weight)");
}

TEST_CASE(
    "RoBERTa before it is given a task gets a fresh classifier; token types and padding rows are folded") {
  const ModelWeights weights = tiny("roberta");
  const std::string folder = folder_of(weights);
  change_tensors(folder, [](nn::Safetensors& file) {
    drop(file, "classifier.");
    file.tensors.push_back({"lm_head.bias", {7}, std::vector<float>(7)});
    file.find("roberta.embeddings.token_type_embeddings.weight")->values.assign(8, 0.5f);
  });
  const ImportedModel read = read_hugging_face(folder, {.classes = 4, .seed = 2});
  CHECK(read.ignored == std::vector<std::string>{"lm_head.bias"});
  CHECK(read.weights.config.classes == 4);
  CHECK(read.weights.class_weight.size() == 32);
  CHECK(read.weights.class_weight !=
        read_hugging_face(folder, {.classes = 4, .seed = 3}).weights.class_weight);
  for (size_t i = 0; i < weights.position_embedding.size(); ++i)
    CHECK(read.weights.position_embedding[i] == weights.position_embedding[i] + 0.5f);
}

TEST_CASE("BERT before it is given a task keeps its pooler, if it has one, and gets a fresh classifier") {
  const ModelWeights weights = tiny("bert");
  const std::string folder = folder_of(weights);
  change_tensors(folder, [](nn::Safetensors& file) {
    drop(file, "classifier.");
    file.tensors.push_back({"cls.predictions.bias", {7}, std::vector<float>(7)});
    for (nn::NamedTensor& tensor : file.tensors)
      for (const auto& [now, old] :
           {std::pair("LayerNorm.weight", "LayerNorm.gamma"), std::pair("LayerNorm.bias", "LayerNorm.beta")})
        if (tensor.name.ends_with(now)) tensor.name.replace(tensor.name.rfind(now), std::string::npos, old);
  });
  const ImportedModel pretrained = read_hugging_face(folder, {.classes = 4});
  CHECK(pretrained.ignored == std::vector<std::string>{"cls.predictions.bias"});
  CHECK(pretrained.weights.class_weight.size() == 32);
  CHECK(pretrained.weights.pooler_weight == weights.pooler_weight);
  CHECK(pretrained.weights.type_embedding == weights.type_embedding);
  CHECK(pretrained.weights.layers[1].norm2_gamma == weights.layers[1].norm2_gamma);
  change_tensors(folder, [](nn::Safetensors& file) {
    drop(file, "bert.pooler.");
    for (nn::NamedTensor& tensor : file.tensors)
      if (tensor.name.starts_with("bert.")) tensor.name.erase(0, 5);
  });
  const ImportedModel bare = read_hugging_face(folder);
  CHECK(bare.weights.pooler_weight != weights.pooler_weight);
  CHECK(bare.weights.embedding == weights.embedding);
}

TEST_CASE("a tensor with a value that is not finite is named, with its file") {
  for (const auto& [family, name, value] :
       {std::tuple{"gpt-neox", "gpt_neox.layers.1.attention.query_key_value.weight", NAN},
        {"llama", "model.layers.0.mlp.gate_proj.weight", HUGE_VALF},
        {"roberta", "roberta.embeddings.token_type_embeddings.weight", NAN},
        {"roberta", "classifier.out_proj.bias", -HUGE_VALF}}) {
    CAPTURE(name);
    const std::string folder = folder_of(tiny(family));
    change_tensors(
        folder, [name = name, value = value](nn::Safetensors& file) { file.find(name)->values[2] = value; });
    const std::string line =
        folder + "/model.safetensors: tensor " + name + " holds a value that is not finite (number 2 of ";
    CHECK_REFUSED(read_hugging_face(folder), line);
  }
}

TEST_CASE("GPT-2's first files, without a prefix and with the buffers of masks, are read like later ones") {
  const ModelWeights weights = tiny("gpt2");
  const std::string folder = folder_of(weights);
  change_tensors(folder, [](nn::Safetensors& file) {
    drop(file, "lm_head.weight");
    for (nn::NamedTensor& tensor : file.tensors) tensor.name.erase(0, std::string("transformer.").size());
    file.tensors.push_back({"h.0.attn.bias", {1, 1, 1, 1}, {1}});
  });
  tie(folder);
  const ImportedModel read = read_hugging_face(folder);
  CHECK(read.ignored == std::vector<std::string>{"h.0.attn.bias"});
  ModelWeights expected = weights;
  expected.unembedding = weights.embedding;
  check_same(read.weights, expected, 0.0f);
}

TEST_CASE("a tied unembedding is the embedding") {
  const ModelWeights weights = tiny("llama");
  const std::string folder = folder_of(weights);
  change_tensors(folder, [](nn::Safetensors& file) { drop(file, "lm_head.weight"); });
  CHECK_REFUSED(read_hugging_face(folder), "1 missing (lm_head.weight)");
  tie(folder);
  CHECK(read_hugging_face(folder).weights.unembedding == weights.embedding);
  write_hugging_face(folder, weights);  // one of its own, which is another
  tie(folder);
  CHECK_REFUSED(read_hugging_face(folder), "lm_head.weight is not model.embed_tokens.weight");
  change_tensors(folder,
                 [&](nn::Safetensors& file) { file.find("lm_head.weight")->values = weights.embedding; });
  CHECK(read_hugging_face(folder).weights.unembedding == weights.embedding);
}

TEST_CASE("a model in parts is read through its index, which names no other folder") {
  const ModelWeights weights = tiny("llama");
  const std::string folder = folder_of(weights);
  nn::Safetensors first = nn::read_safetensors(folder + "/model.safetensors"), second;
  second.tensors.assign(first.tensors.begin() + 5, first.tensors.end());
  first.tensors.resize(5);
  fs::remove(folder + "/model.safetensors");
  nn::write_safetensors(folder + "/model-1.safetensors", first);
  nn::write_safetensors(folder + "/model-2.safetensors", second);
  const std::string index = folder + "/model.safetensors.index.json";
  const std::string one = first.tensors[0].name, other = second.tensors[0].name;
  write_file(index, message(R"({"weight_map": {")", one, R"(": "model-1.safetensors", ")", other,
                            R"(": "model-2.safetensors"}})"));
  check_same(read_hugging_face(folder).weights, weights, 0.0f);
  write_file(index, message(R"({"weight_map": {")", one, R"(": "model-1.safetensors"}})"));
  CHECK_REFUSED(read_hugging_face(folder), " missing (");
  write_file(index, message(R"({"weight_map": {")", one, R"(": "model-2.safetensors"}})"));
  CHECK_REFUSED(read_hugging_face(folder),
                message(" names ", one, ", which model-2.safetensors does not hold"));
  for (const char* bad : {"../model-1.safetensors", "/etc/passwd", "", "config.json"}) {
    write_file(index, message(R"({"weight_map": {"a": ")", bad, R"("}})"));
    CHECK_REFUSED(read_hugging_face(folder), "is no .safetensors file of this folder");
  }
}

TEST_CASE("a folder without the files, and a model that transformers does not have, are refused") {
  const std::string folder = fresh_folder();
  CHECK_REFUSED(read_hugging_face(folder), "config.json");
  ModelWeights powered = tiny("gpt-neox");
  powered.config.attention = AttentionKind::kPowerSoftmax;
  CHECK_THROWS_AS(write_hugging_face(folder, powered), Error);
  CHECK(fs::is_empty(folder));
}

}  // namespace
}  // namespace psm::attention
