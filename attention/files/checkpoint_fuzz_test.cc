// Fuzz targets of model files (ckks/base/testing/fuzz.h says how they are run for long).
#include <algorithm>
#include <array>
#include <filesystem>

#include "attention/files/checkpoint.h"
#include "attention/files/hugging_face.h"
#include "attention/files/stored_tensors.h"
#include "attention/trained/measure.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/fuzz.h"
#include "ckks/base/testing/runfile.h"
#include "nn/testing/fuzz_safetensors.h"

namespace psm::attention {
namespace {

ModelWeights tiny() {
  return random_weights(
      {.vocab = 3, .context = 4, .layers = 1, .width = 2, .heads = 1, .ffn = 2, .epsilon = 0.1}, 3);
}

TEST_CASE("a model's file: a model that is read is complete") {
  Checkpoint checkpoint{.weights = tiny()};
  const std::string path = path_of("valid");
  FuzzTarget target{.name = "checkpoint", .fixed_bytes = 16384, .bytes_per_byte = 200};
  save_checkpoint(path, checkpoint);
  target.corpus.push_back(nn::without_checksum(read_file(path, 1 << 20)));
  const std::vector<std::vector<int>> prompts = {{1, 2}, {0}};
  checkpoint.ranges = measure_ranges(checkpoint.weights, prompts);
  checkpoint.polynomial = PolynomialOptions{.margin = 1.5};
  checkpoint.notes = {{"prompts", "616263"}};
  save_checkpoint(path, checkpoint);
  target.corpus.push_back(nn::without_checksum(read_file(path, 1 << 20)));

  target.repair = nn::repair_safetensors;
  target.marks = nn::safetensors_marks;
  target.decode = [](std::string_view bytes) {
    const Checkpoint read = checkpoint_from(
        nn::read_safetensors(ByteSource("input", bytes), nn::ChecksumRule::kIfPresent), "input");
    read.weights.validate();
    PSM_CHECK(!read.ranges || read.ranges->layers.size() == read.weights.layers.size());
    const std::string first = path_of("first"), second = path_of("second");
    save_checkpoint(first, read);
    save_checkpoint(second, load_checkpoint(first));
    PSM_CHECK(read_file(first, 1 << 20) == read_file(second, 1 << 20));
    const Checkpoint opened = load_checkpoint(first, /*whole=*/false);
    for (int layer = 0; layer < opened.weights.config.layers; ++layer) opened.read_layer(layer);
  };
  check_fuzz(target);
}

// A folder of transformers' as one input: config.json, the preprocessor's and sentence-transformers' own, the list of a
// large model's parts, and the tensors, with zero bytes between them. What is empty is not there.
using Folder = std::array<std::string, 4>;

std::string joined(const Folder& files) {
  return files[0] + '\0' + files[1] + '\0' + files[2] + '\0' + files[3];
}

Folder parted(std::string_view bytes) {
  Folder files;
  for (size_t i = 0; i < 3; ++i) {
    const size_t end = std::min(bytes.find('\0'), bytes.size());
    files[i] = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  files[3] = bytes;
  return files;
}

void repair_folder(std::string& bytes, TrainingRandom& random) {
  Folder files = parted(bytes);
  nn::repair_safetensors(files[3], random);
  bytes = joined(files);
}

// Every family, and what else transformers writes: other names of norms and heads, no head, ties, parts.
std::vector<std::string> models_of_transformers() {
  std::vector<std::string> all;
  for (const std::string family : {"gpt-neox", "gpt2", "llama", "bert", "roberta", "vit"}) {
    ModelConfig config = preset(family);
    config.vocab = 3, config.context = 4, config.layers = 1, config.width = 2, config.heads = 1,
    config.ffn = 2;
    config.attention = AttentionKind::kSoftmax;
    if (!config.causal) config.classes = 2;
    if (family == "bert") config.separator = 2;
    std::optional<PatchGrid> images;
    if (family == "vit") config.vocab = 0, config.context = 5, config.patch_inputs = 4, images = {4, 4, 2, 1};
    const ModelWeights weights = random_weights(config, 3);
    write_hugging_face(path_of(""), weights, images);
    const Folder files{read_file(path_of("config.json"), 1 << 20), "", "",
                       nn::without_checksum(read_file(path_of("model.safetensors"), 1 << 20))};
    all.push_back(joined(files));
    Folder parts = files;
    for (const nn::NamedTensor& tensor : stored_tensors(weights))
      parts[2] +=
          (parts[2].empty() ? R"({"weight_map": {")" : R"(, ")") + tensor.name + R"(": "part.safetensors")";
    parts[1] = R"({"image_mean": [0.5, 0.5], "size": 4, "pooling_mode_mean_tokens": true})", parts[2] += "}}";
    all.push_back(joined(parts));
    const std::string prefix = family == "gpt-neox" ? "gpt_neox."
                               : family == "gpt2"   ? "transformer."
                               : family == "llama"  ? "model."
                                                    : family + ".";
    std::string changed = joined(files);
    for (const auto& [from, to] :
         {std::pair<std::string, std::string>(R"(word_embeddings": false)", R"(word_embeddings": true)"),
          {"lm_head.weight", "x.position_ids"},
          {"embed_out.weight", "x.rotary_emb.inv_freq"},
          {"\"" + prefix, "\""},
          {"LayerNorm.weight", "LayerNorm.gamma"},
          {"classifier", "cls"}}) {
      for (size_t at = 0; (at = changed.find(from, at)) != std::string::npos; at += to.size())
        changed.replace(at, from.size(), to);
      TrainingRandom none(1);
      repair_folder(changed, none);
      all.push_back(changed);
    }
  }
  return all;
}

TEST_CASE("a model in the files of transformers") {
  FuzzTarget target{.name = "transformers", .fixed_bytes = 64 << 10, .bytes_per_byte = 200};
  target.corpus = models_of_transformers();
  target.repair = repair_folder;
  target.decode = [](std::string_view bytes) {
    const std::string folder = path_of("transformers");
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder + "/1_Pooling");
    const Folder files = parted(bytes);
    const char* names[] = {"config.json", "preprocessor_config.json", "model.safetensors.index.json",
                           files[2].empty() ? "model.safetensors" : "part.safetensors"};
    for (size_t i = 0; i < files.size(); ++i)
      if (!files[i].empty()) in_file(files[i], std::string("transformers/") + names[i]);
    if (!files[1].empty()) in_file(files[1], "transformers/1_Pooling/config.json");
    read_hugging_face(folder).weights.validate();
  };
  target.nearly = true;
  check_fuzz(target);
}

}  // namespace
}  // namespace psm::attention
