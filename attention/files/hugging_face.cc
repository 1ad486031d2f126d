#include "attention/files/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "attention/files/hugging_face_config.h"
#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json.h"
#include "ckks/base/random/training_random.h"
#include "nn/files/safetensors.h"

namespace psm::attention {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxJsonBytes = uint64_t{4} << 20;
constexpr const char* kWeightsName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kConfigName = "config.json";
constexpr const char* kPositions = "roberta.embeddings.position_embeddings.weight";
constexpr const char* kTokenTypes = "roberta.embeddings.token_type_embeddings.weight";
constexpr const char* kClassifier = "classifier.out_proj.weight";

// The parts of a large model, one file name for each in the index.
nn::Safetensors read_parts(const fs::path& folder) {
  const std::string index = (folder / kIndexName).string();
  const Json json = parse_json(read_file(index, kMaxJsonBytes), index);
  std::set<std::string> names;
  for (const auto& [tensor, file] : json.at("weight_map", index).object(index + ", weight_map")) {
    const std::string& name = file.string(index + ", weight_map, " + tensor);
    if (fs::path(name).filename() != name || !name.ends_with(".safetensors"))
      throw Error(
          message(index, ": ", name, " is no .safetensors file of this folder; copy the model again"));
    names.insert(name);
  }
  nn::Safetensors all;
  for (const std::string& name : names) {
    nn::Safetensors part = nn::read_safetensors((folder / name).string(), nn::ChecksumRule::kIfPresent);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(all.tensors));
    std::move(part.skipped.begin(), part.skipped.end(), std::back_inserter(all.skipped));
  }
  return all;
}

nn::NamedTensor* find(nn::Safetensors& file, const std::string& name) {
  const auto found = std::find_if(file.tensors.begin(), file.tensors.end(),
                                  [&](const nn::NamedTensor& tensor) { return tensor.name == name; });
  return found == file.tensors.end() ? nullptr : &*found;
}

// Is this tensor no part of the model, in some version or for some task of transformers?
bool is_ignored(const std::string& name) {
  for (const char* end : {".attention.bias", ".attention.masked_bias", ".attn.bias", ".attn.masked_bias",
                          ".rotary_emb.inv_freq", ".position_ids"})
    if (name.ends_with(end)) return true;
  return name.starts_with("roberta.pooler.");
}

void drop_ignored(nn::Safetensors& file, bool masked_words, std::vector<std::string>& ignored) {
  const auto drop = [&](const auto& tensor) {
    const bool drops = is_ignored(tensor.name) || (masked_words && tensor.name.starts_with("lm_head."));
    if (drops) ignored.push_back(tensor.name);
    return drops;
  };
  std::erase_if(file.tensors, drop);
  std::erase_if(file.skipped, drop);
}

void untie(nn::Safetensors& file, std::string_view family, ImportedModel& out) {
  const bool is_neox = family == "gpt-neox";
  const nn::NamedTensor* shared = find(file, is_neox             ? "gpt_neox.embed_in.weight"
                                             : family == "llama" ? "model.embed_tokens.weight"
                                                                 : "transformer.wte.weight");
  const char* unembedding = is_neox ? "embed_out.weight" : "lm_head.weight";
  if (shared == nullptr || find(file, unembedding) != nullptr) return;
  nn::NamedTensor copy{unembedding, shared->shape, shared->values};
  file.tensors.push_back(std::move(copy));
  out.changed.push_back("the unembedding is a copy of the embedding, to which it was tied");
}

// Drops the rows that stand for padding and adds the first token type's row to the others.
void convert_positions(nn::Safetensors& file, const HuggingFaceConfig& config, const std::string& path,
                       ImportedModel& out) {
  nn::NamedTensor* positions = find(file, kPositions);
  if (positions == nullptr) return;  // reported with all others that are missing
  const int64_t d = config.model.width;
  const int64_t stored[] = {config.model.context + config.position_rows, d};
  file.at(kPositions, stored, path);
  positions->values.erase(positions->values.begin(), positions->values.begin() + config.position_rows * d);
  positions->shape[0] = config.model.context;
  out.changed.push_back(message("the first ", config.position_rows, " rows of the positions are left out"));
  const int64_t types_shape[] = {config.token_types, d};
  const std::vector<float> types = file.take(kTokenTypes, types_shape, path);
  positions = find(file, kPositions);
  for (size_t i = 0; i < positions->values.size(); ++i) positions->values[i] += types[i % d];
  out.changed.push_back("the token type is added to the positions");
}

// From tanh to sigmoid (factor 2) and back (1/2): D, e and C times the factor; c - sum of C's rows, before or
// after.
void convert_classifier(ModelWeights& weights, float factor) {
  for (auto* values : {&weights.pooler_weight, &weights.pooler_bias, &weights.class_weight})
    for (float& value : *values) value *= factor;
  // With our C = 2 C', sum of C' = sum of C / 2.
  const double sign = factor > 1 ? -0.5 : 1.0;
  const size_t d = static_cast<size_t>(weights.config.width);
  for (size_t row = 0; row < weights.class_bias.size(); ++row) {
    double sum = 0;
    for (size_t i = 0; i < d; ++i) sum += weights.class_weight[row * d + i];
    weights.class_bias[row] = static_cast<float>(weights.class_bias[row] + sign * sum);
  }
}

// As a fresh model has it, under the tensors' names.
void add_fresh_head(nn::Safetensors& file, int64_t d, const FreshHead& head) {
  TrainingRandom random(head.seed);
  const auto add = [&](const char* name, int64_t rows) {
    nn::NamedTensor matrix{
        message(name, ".weight"), {rows, d}, std::vector<float>(static_cast<size_t>(rows * d))};
    for (float& value : matrix.values)
      value = static_cast<float>(random.normal() / std::sqrt(static_cast<double>(d)));
    file.tensors.push_back(std::move(matrix));
    file.tensors.push_back({message(name, ".bias"), {rows}, std::vector<float>(static_cast<size_t>(rows))});
  };
  add("classifier.dense", d);
  add("classifier.out_proj", head.classes);
}

void read_roberta(nn::Safetensors& file, const HuggingFaceConfig& config, const FreshHead& head,
                  const std::string& path, ImportedModel& out) {
  convert_positions(file, config, path, out);
  const bool is_fresh = find(file, kClassifier) == nullptr;
  if (is_fresh) add_fresh_head(file, config.model.width, head);
  const std::vector<int64_t>& shape = find(file, kClassifier)->shape;
  out.weights.config = config.model;
  out.weights.config.classes = shape.empty() ? 0 : static_cast<int>(std::min<int64_t>(shape[0], 1 << 20));
  out.weights.config.pooler = true;
  out.weights.config.validate();
  take_stored_tensors(file, out.weights, path);
  if (!is_fresh) convert_classifier(out.weights, 2.0f);
  out.changed.push_back(is_fresh ? message("a fresh classifier for ", head.classes, " classes, to be trained")
                                 : "tanh in the classifier is written as 2 sigmoid(2x) - 1");
}

}  // namespace

ImportedModel read_hugging_face(const std::string& path, const FreshHead& head) {
  const bool is_folder = fs::is_directory(path);
  const fs::path folder = is_folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string config_path = (folder / kConfigName).string();
  const HuggingFaceConfig config =
      hugging_face_config_from_json(read_file(config_path, kMaxJsonBytes), config_path);
  if (is_folder && !fs::exists(folder / kWeightsName) && !fs::exists(folder / kIndexName) &&
      (fs::exists(folder / "pytorch_model.bin") || fs::exists(folder / "pytorch_model.bin.index.json")))
    throw Error(message(path,
                        " has its weights in pytorch_model.bin, which only PyTorch reads; load it in Python "
                        "and save it by model.save_pretrained(FOLDER, safe_serialization=True)"));
  const bool in_parts = is_folder && !fs::exists(folder / kWeightsName) && fs::exists(folder / kIndexName);
  const std::string weights_path = in_parts    ? (folder / kIndexName).string()
                                   : is_folder ? (folder / kWeightsName).string()
                                               : path;
  nn::Safetensors file =
      in_parts ? read_parts(folder) : nn::read_safetensors(weights_path, nn::ChecksumRule::kIfPresent);

  ImportedModel out;
  const bool is_roberta = config.model.block == BlockKind::kPostNorm;
  drop_ignored(file, is_roberta, out.ignored);
  nn::require_finite(file, weights_path);
  if (is_roberta) {
    read_roberta(file, config, head, weights_path, out);
  } else {
    const std::string_view family = family_of(config.model);
    if (family == "gpt2" && find(file, "wte.weight") != nullptr)
      for (nn::NamedTensor& tensor : file.tensors) tensor.name = "transformer." + tensor.name;
    if (config.tied) untie(file, family, out);
    out.weights.config = config.model;
    take_stored_tensors(file, out.weights, weights_path);
  }
  out.weights.validate(weights_path);
  return out;
}

void write_hugging_face(const std::string& folder, const ModelWeights& weights) {
  weights.validate();
  const Json config = hugging_face_config_to_json(weights.config);
  nn::Safetensors file;
  file.metadata["format"] = "pt";  // transformers asks for it
  if (weights.config.classes > 0) {
    ModelWeights theirs = weights;
    convert_classifier(theirs, 0.5f);
    file.tensors = stored_tensors(theirs);
    nn::NamedTensor& positions = *find(file, kPositions);
    const int64_t d = weights.config.width;
    const int64_t unused =
        config.at("max_position_embeddings", kConfigName).integer(kConfigName, 0, INT64_MAX) -
        weights.config.context;
    positions.values.insert(positions.values.begin(), static_cast<size_t>(unused * d), 0.0f);
    positions.shape[0] += unused;
    file.tensors.push_back({kTokenTypes, {1, d}, std::vector<float>(static_cast<size_t>(d))});
  } else {
    file.tensors = stored_tensors(weights);
  }
  nn::write_safetensors((fs::path(folder) / kWeightsName).string(), file);
  write_file((fs::path(folder) / kConfigName).string(), config.dump() + "\n");
}

}  // namespace psm::attention
