#include "attention/files/hugging_face.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "attention/files/hugging_face_config.h"
#include "attention/files/stored_tensors.h"
#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/files/utf8.h"
#include "ckks/base/random/training_random.h"
#include "nn/files/safetensors.h"

namespace psm::attention {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxJsonBytes = uint64_t{4} << 20;
constexpr const char* kWeightsName = "model.safetensors";
constexpr const char* kIndexName = "model.safetensors.index.json";
constexpr const char* kConfigName = "config.json";
constexpr const char* kPreprocessorName = "preprocessor_config.json";
constexpr const char* kTokenTypes = "roberta.embeddings.token_type_embeddings.weight";

// The parts of a large model, one file name for each in the index.
nn::Safetensors read_parts(const fs::path& folder) {
  const std::string index = (folder / kIndexName).string();
  const Json json = parse_json(read_file(index, kMaxJsonBytes), index + " (the list of the model's parts)");
  std::map<std::string, std::set<std::string>> files;  // the tensors of each
  for (const auto& [tensor, file] : json.at("weight_map", index).object(index + ", weight_map")) {
    const std::string& name = file.string(index + ", weight_map, " + tensor);
    if (fs::path(name).filename() != name || !name.ends_with(".safetensors"))
      throw Error(
          message(index, ": ", name, " is no .safetensors file of this folder; copy the model again"));
    files[name].insert(tensor);
  }
  nn::Safetensors all;
  for (auto& [name, missing] : files) {
    nn::Safetensors part = nn::read_safetensors((folder / name).string(), nn::ChecksumRule::kIfPresent);
    for (const nn::NamedTensor& tensor : part.tensors) missing.erase(tensor.name);
    for (const nn::SkippedTensor& tensor : part.skipped) missing.erase(tensor.name);
    if (!missing.empty())
      throw Error(message(index, " names ", *missing.begin(), ", which ", name,
                          " does not hold; copy the model again"));
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(all.tensors));
    std::move(part.skipped.begin(), part.skipped.end(), std::back_inserter(all.skipped));
  }
  return all;
}

// Is this tensor no part of the model, in some version or for some task of transformers?
bool is_ignored(const std::string& name, std::string_view family) {
  constexpr std::pair<std::string_view, const char*> kHeads[] = {
      {"bert", "cls."},       {"roberta", "lm_head."}, {"roberta", "roberta.pooler."},
      {"roberta", "pooler."}, {"vit", "vit.pooler."},  {"vit", "pooler."}};
  for (const char* end : {".attention.bias", ".attention.masked_bias", ".attn.bias", ".attn.masked_bias",
                          ".rotary_emb.inv_freq", ".position_ids"})
    if (name.ends_with(end)) return true;
  return std::any_of(std::begin(kHeads), std::end(kHeads),
                     [&](const auto& head) { return head.first == family && name.starts_with(head.second); });
}

// As BERT's first files have them.
void rename_norms(nn::Safetensors& file) {
  for (nn::NamedTensor& tensor : file.tensors)
    for (const auto& [old, now] : {std::pair(".gamma", ".weight"), std::pair(".beta", ".bias")})
      if (const size_t at = tensor.name.rfind(old); tensor.name.ends_with(std::string("LayerNorm") + old))
        tensor.name.replace(at, std::string::npos, now);
}

// Names the tensors of a model without head as those of one with a head are named.
void add_prefix(nn::Safetensors& file, const ModelConfig& config) {
  const std::string first = stored_name(config, config.patch_inputs > 0 ? "class_token" : "embedding");
  const std::string prefix = first.substr(0, first.find('.') + 1);
  if (file.find(first.substr(prefix.size())) == nullptr) return;
  for (nn::NamedTensor& tensor : file.tensors) tensor.name = prefix + tensor.name;
  for (nn::SkippedTensor& tensor : file.skipped) tensor.name = prefix + tensor.name;
}

// Drops the tensors whose names is_one() picks, and notes them.
void drop_ignored(nn::Safetensors& file, std::vector<std::string>& ignored, const auto& is_one) {
  const auto drop = [&](const auto& tensor) {
    const bool drops = is_one(tensor.name);
    if (drops) ignored.push_back(tensor.name);
    return drops;
  };
  std::erase_if(file.tensors, drop);
  std::erase_if(file.skipped, drop);
}

void untie(nn::Safetensors& file, const std::string& path, ImportedModel& out) {
  const nn::NamedTensor* shared = file.find(stored_name(out.weights.config, "embedding"));
  const std::string unembedding = stored_name(out.weights.config, "unembedding");
  if (shared == nullptr) return;
  if (const nn::NamedTensor* own = file.find(unembedding)) {
    if (own->values != shared->values)
      throw Error(
          message(path, ": ", unembedding, " is not ", shared->name,
                  ", to which config.json ties it, and versions of transformers differ in which counts; set "
                  "tie_word_embeddings as the model was trained, or leave the tensor out"));
    return;
  }
  file.tensors.push_back({unembedding, shared->shape, shared->values});
  out.changed.push_back("the unembedding is a copy of the embedding, to which it was tied");
}

// Drops the rows that stand for padding and adds the first token type's row to the others.
void convert_positions(nn::Safetensors& file, const HuggingFaceConfig& config, const std::string& path,
                       ImportedModel& out) {
  const std::string name = stored_name(config.model, "position_embedding");
  nn::NamedTensor* positions = file.find(name);
  if (positions == nullptr) return;  // reported with all others that are missing
  const int64_t d = config.model.width;
  const int64_t stored[] = {config.model.context + config.position_rows, d};
  file.at(name, stored, path);
  positions->values.erase(positions->values.begin(), positions->values.begin() + config.position_rows * d);
  positions->shape[0] = config.model.context;
  out.changed.push_back(message("the first ", config.position_rows, " rows of the positions are left out"));
  const int64_t types_shape[] = {config.token_types, d};
  const std::vector<float> types = file.take(kTokenTypes, types_shape, path);
  positions = file.find(name);
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

// Sets the classes. The head's last matrix, [classes][d], makes the logits. If it is missing or has other
// classes than asked for, it is made anew, and so is a classifier's layer before it.
void find_head(nn::Safetensors& file, const FreshHead& head, ImportedModel& out) {
  ModelConfig& config = out.weights.config;
  const nn::NamedTensor* last = file.find(stored_name(config, "class_weight"));
  if (last != nullptr)
    config.classes = last->shape.empty() ? 0 : static_cast<int>(std::min<int64_t>(last->shape[0], 1 << 20));
  if (last == nullptr || head.classes.value_or(config.classes) != config.classes) {
    config.classes = head.classes.value_or(2);
    TrainingRandom random(head.seed);
    std::erase_if(file.tensors, [](const auto& tensor) { return tensor.name.starts_with("classifier."); });
    const auto make = [&](const char* weight, const char* bias, int64_t rows) {  // as a fresh model has it
      const std::string name = stored_name(config, weight);
      if (file.find(name) != nullptr) return;
      const int64_t d = config.width;
      nn::NamedTensor matrix{name, {rows, d}, std::vector<float>(static_cast<size_t>(rows * d))};
      for (float& value : matrix.values)
        value = static_cast<float>(random.normal() / std::sqrt(static_cast<double>(d)));
      file.tensors.push_back(std::move(matrix));
      file.tensors.push_back(
          {stored_name(config, bias), {rows}, std::vector<float>(static_cast<size_t>(rows))});
    };
    if (config.pooler) make("pooler_weight", "pooler_bias", config.width);
    make("class_weight", "class_bias", config.classes);
    out.changed.push_back(message("a fresh classifier for ", config.classes, " classes, to be trained"));
  }
  config.validate();
}

// Whether sentence-transformers average the tokens of the folder's model.
bool averages_tokens(const fs::path& folder) {
  const std::string path = (folder / "1_Pooling" / "config.json").string();
  if (!fs::exists(path)) return false;
  if (const std::string list = (folder / "modules.json").string(); fs::exists(list)) {
    const Json modules = parse_json(read_file(list, kMaxJsonBytes), list);
    for (const Json& module : modules.array(list)) {
      const std::string& type = module.at("type", list).string(list + ", type");
      if (!type.ends_with(".Transformer") && !type.ends_with(".Pooling") && !type.ends_with(".Normalize"))
        throw Error(message(list, ": a module ", visible(type),
                            " is not read; what follows a pooling may only normalise it"));
    }
  }
  const Json json = parse_json(read_file(path, kMaxJsonBytes), path);
  for (const auto& [key, value] : json.object(path))
    if (key.starts_with("pooling_mode_") &&
        value.truth(path + ", " + key) != (key == "pooling_mode_mean_tokens"))
      throw Error(message(path, ": ", key, " is ", value.dump(0),
                          "; of the ways to pool only the mean of the tokens is read"));
  return true;
}

// A BERT or RoBERTa whose head reads the mean of the tokens: an embedding, or a fresh classifier.
void read_mean_pooling(nn::Safetensors& file, const FreshHead& head, const std::string& path,
                       ImportedModel& out) {
  out.weights.config.pooler = false, out.weights.config.mean_pooling = true;
  drop_ignored(file, out.ignored, [](const std::string& name) {
    return name.starts_with("bert.pooler.") || name.starts_with("classifier.");
  });
  find_head(file, head, out);
  take_stored_tensors(file, out.weights, path);
  if (head.classes) return;
  embed_sentences(out.weights);
  out.changed.back() = "the answer is the mean of a text's tokens, of length 1";
}

// BERT or RoBERTa.
void read_post_norm(nn::Safetensors& file, const HuggingFaceConfig& config, const FreshHead& head,
                    const std::string& path, ImportedModel& out) {
  if (config.model.separator == 0) {  // RoBERTa
    convert_positions(file, config, path, out);
    out.padding = config.position_rows - 1;
  }
  if (head.mean_pooling) return read_mean_pooling(file, head, path, out);
  out.weights.config.pooler = true;
  // Before a head is made of the width that config.json says: the file's matrices have it.
  file.at(stored_name(config.model, "layers.0.wo"), std::vector<int64_t>(2, config.model.width), path);
  find_head(file, head, out);
  take_stored_tensors(file, out.weights, path);
  convert_classifier(out.weights, 2.0f);
  out.changed.push_back("tanh in the classifier is written as 2 sigmoid(2x) - 1");
}

// Tables of one batch, and the patches' convolution as a matrix: theirs and ours.
void reshape_vit(nn::Safetensors& file, const ModelConfig& config, const PatchGrid& images, bool to_theirs,
                 const std::string& path) {
  const int64_t d = config.width, t = config.context, p = images.patch;
  const auto set = [&](const char* parameter, const std::vector<int64_t>& theirs,
                       const std::vector<int64_t>& ours) {
    nn::NamedTensor* tensor = file.find(stored_name(config, parameter));
    if (tensor == nullptr) return;  // reported with all others that are missing
    file.at(tensor->name, to_theirs ? ours : theirs, path);
    tensor->shape = to_theirs ? theirs : ours;
  };
  set("patch_weight", {d, images.channels, p, p}, {d, config.patch_inputs});
  set("class_token", {1, 1, d}, {d});
  set("position_embedding", {1, t, d}, {t, d});
}

}  // namespace

ImportedModel read_hugging_face(const std::string& path, const FreshHead& head) {
  const fs::path folder = path;
  const std::string config_path = (folder / kConfigName).string();
  const HuggingFaceConfig config =
      hugging_face_config_from_json(read_file(config_path, kMaxJsonBytes), config_path);
  const bool whole = fs::exists(folder / kWeightsName), in_parts = !whole && fs::exists(folder / kIndexName);
  if (!whole && !in_parts &&
      (fs::exists(folder / "pytorch_model.bin") || fs::exists(folder / "pytorch_model.bin.index.json")))
    throw Error(message(path,
                        " has its weights in pytorch_model.bin, which only PyTorch reads; load it in Python "
                        "and save it by model.save_pretrained(FOLDER, safe_serialization=True)"));
  const std::string weights_path = (folder / (in_parts ? kIndexName : kWeightsName)).string();
  nn::Safetensors file =
      in_parts ? read_parts(folder) : nn::read_safetensors(weights_path, nn::ChecksumRule::kIfPresent);

  ImportedModel out;
  out.weights.config = config.model;
  const std::string_view family = family_of(config.model);
  drop_ignored(file, out.ignored, [&](const std::string& name) { return is_ignored(name, family); });
  if (family == "bert") rename_norms(file);
  add_prefix(file, config.model);
  nn::require_finite(file, weights_path);
  if (config.model.block == BlockKind::kPostNorm) {
    FreshHead own = head;
    own.mean_pooling = head.mean_pooling || averages_tokens(folder);
    read_post_norm(file, config, own, weights_path, out);
  } else if (family == "vit") {
    if (const fs::path preprocessor = folder / kPreprocessorName; fs::exists(preprocessor))
      require_known_preprocessor(read_file(preprocessor.string(), kMaxJsonBytes), preprocessor.string());
    reshape_vit(file, config.model, *config.images, /*to_theirs=*/false, weights_path);
    find_head(file, head, out);
    take_stored_tensors(file, out.weights, weights_path);
    out.images = config.images;
  } else {
    if (config.tied) untie(file, weights_path, out);
    take_stored_tensors(file, out.weights, weights_path);
  }
  out.weights.validate(weights_path);
  return out;
}

void write_hugging_face(const std::string& folder, const ModelWeights& weights,
                        const std::optional<PatchGrid>& images) {
  weights.validate();
  const Json config = hugging_face_config_to_json(weights.config, images);
  nn::Safetensors file;
  file.metadata["format"] = "pt";  // transformers asks for it
  ModelWeights theirs = weights;
  if (!images && weights.config.classes > 0) convert_classifier(theirs, 0.5f);
  file.tensors = stored_tensors(std::move(theirs));
  if (images) reshape_vit(file, weights.config, *images, /*to_theirs=*/true, folder);
  if (family_of(weights.config) == "roberta") {
    nn::NamedTensor* const positions = file.find(stored_name(weights.config, "position_embedding"));
    const int64_t d = weights.config.width;
    const int64_t unused =
        config.at("max_position_embeddings", kConfigName).integer(kConfigName, 0, INT64_MAX) -
        weights.config.context;
    positions->values.insert(positions->values.begin(), static_cast<size_t>(unused * d), 0.0f);
    positions->shape[0] += unused;
    file.tensors.push_back({kTokenTypes, {1, d}, std::vector<float>(static_cast<size_t>(d))});
  }
  fs::create_directories(folder);
  nn::write_safetensors((fs::path(folder) / kWeightsName).string(), file);
  write_file((fs::path(folder) / kConfigName).string(), config.dump() + "\n");
}

}  // namespace psm::attention
