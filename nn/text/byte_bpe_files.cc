#include "nn/text/byte_bpe_files.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ckks/base/error.h"
#include "ckks/base/files/json.h"
#include "nn/text/byte_level.h"
#include "nn/text/lines.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {
namespace {

constexpr JsonLimits kLimits{
    .max_bytes = kMaxTokenizerBytes, .max_depth = 8, .max_values = uint64_t{1} << 20};
constexpr int kMaxId = (1 << 20) - 1;

using Ids = std::unordered_map<std::string_view, int>;

// The vocabulary's ids, by the characters of its tokens, which `json` keeps.
Ids read_vocabulary(const Json& json, const std::string& what) {
  Ids ids;
  for (const auto& [characters, id] : json.object(message(what, ": the vocabulary")))
    ids.emplace(characters, static_cast<int>(id.integer(
                                message(what, ": the id of token \"", characters, "\""), 0, kMaxId)));
  if (ids.empty()) throw Error(message(what, ": the vocabulary is empty"));
  return ids;
}

// The tokens' bytes. A token that is not written in byte-level characters must be an added one.
void set_tokens(const Ids& ids, ByteBpeSpec& spec, const std::string& what) {
  int last = 0;
  for (const auto& [characters, id] : ids) last = std::max(last, id);
  spec.tokens.resize(static_cast<size_t>(last) + 1);
  std::vector<bool> taken(spec.tokens.size());
  std::unordered_set<int> added;
  for (const AddedToken& token : spec.added) added.insert(token.id);
  for (const auto& [characters, id] : ids) {
    if (taken[id]) throw Error(message(what, ": two tokens have the id ", id));
    taken[id] = true;
    if (const auto bytes = characters_to_bytes(characters); bytes && !bytes->empty()) {
      spec.tokens[id] = *bytes;
    } else if (!added.contains(id)) {
      throw Error(message(what, ": token ", id, ", \"", printable(characters),
                          "\", is not written in byte-level characters"));
    }
  }
}

int merged_id(const Ids& ids, std::string_view characters, size_t rank, const std::string& what) {
  const auto found = ids.find(characters);
  if (found == ids.end())
    throw Error(message(what, ": merge ", rank, " names \"", printable(characters), "\", which is no token"));
  return found->second;
}

// "a b"
void add_merge(std::string_view line, const Ids& ids, ByteBpeSpec& spec, const std::string& what) {
  const size_t rank = spec.merges.size(), space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    throw Error(
        message(what, ": merge ", rank, ", \"", printable(line), "\", is not two tokens and a space"));
  spec.merges.emplace_back(merged_id(ids, line.substr(0, space), rank, what),
                           merged_id(ids, line.substr(space + 1), rank, what));
}

bool is_given(const Json* json) { return json != nullptr && !json->is_null(); }

std::string type_of(const Json& json, const std::string& what) {
  return json.at("type", what).string(what + " \"type\"");
}

bool flag(const Json& json, const char* name, const std::string& what) {
  const Json* value = json.find(name);
  return value != nullptr && value->truth(message(what, ": \"", name, "\""));
}

AddedToken read_added(const Json& json, const std::string& file) {
  const std::string what = file + ": an added token";
  AddedToken added;
  added.text = json.at("content", what).string(what + "'s \"content\"");
  added.id = static_cast<int>(json.at("id", what).integer(what + "'s \"id\"", 0, kMaxId));
  added.special = flag(json, "special", what);
  added.normalised = flag(json, "normalized", what);
  added.strip_left = flag(json, "lstrip", what);
  added.strip_right = flag(json, "rstrip", what);
  if (flag(json, "single_word", what))
    throw Error(
        message(what, " (\"", printable(added.text), "\") is for whole words only; that is not supported"));
  return added;
}

void read_normaliser(const Json* json, ByteBpeSpec& spec, const std::string& file) {
  if (!is_given(json)) return;
  const std::string what = file + ": the normalizer", type = type_of(*json, what);
  if (type != "NFC") throw Error(message(what, " is ", type, "; only NFC is supported"));
  spec.nfc = true;
}

void read_pre_tokeniser(const Json* json, ByteBpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the pre_tokenizer";
  if (!is_given(json)) throw Error(what + " is missing; only ByteLevel is supported");
  const std::string type = type_of(*json, what);
  const Json* expression = json->find("use_regex");
  if (type != "ByteLevel" || (expression != nullptr && !expression->truth(what + "'s \"use_regex\"")))
    throw Error(message(what, " is ", type, "; only ByteLevel with its own expression is supported"));
  spec.prefix_space = flag(*json, "add_prefix_space", what);
}

void read_ends(const Json* json, ByteBpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the post_processor";
  const auto id_of = [&](const char* name) {
    const Json::Array& pair = json->at(name, what).array(what + "'s \"" + name + "\"");
    if (pair.size() != 2) throw Error(message(what, "'s \"", name, "\" is no token and its id"));
    return static_cast<int>(pair[1].integer(what + "'s \"" + name + "\" id", 0, kMaxId));
  };
  if (is_given(json) && type_of(*json, what) == "RobertaProcessing") {
    spec.start = id_of("cls");
    spec.end = id_of("sep");
    return;
  }
  for (const AddedToken& added : spec.added)
    if (added.text == kEndOfText) spec.end = added.id;
}

Json added_json(const AddedToken& added) {
  Json json;
  json["id"] = added.id;
  json["content"] = added.text;
  json["single_word"] = false;
  json["lstrip"] = added.strip_left;
  json["rstrip"] = added.strip_right;
  json["normalized"] = added.normalised;
  json["special"] = added.special;
  return json;
}

Json byte_level_json(bool prefix_space) {
  Json json;
  json["type"] = "ByteLevel";
  json["add_prefix_space"] = prefix_space;
  json["trim_offsets"] = true;
  json["use_regex"] = true;
  return json;
}

Json post_processor_json(const ByteBpeSpec& spec) {
  if (!spec.start || !spec.end) return byte_level_json(spec.prefix_space);
  const auto token = [&](int id) {
    const auto found = std::find_if(spec.added.begin(), spec.added.end(),
                                    [&](const AddedToken& added) { return added.id == id; });
    Json json;
    json.push_back(found != spec.added.end() ? found->text : bytes_to_characters(spec.tokens[id]));
    json.push_back(id);
    return json;
  };
  Json json;
  json["type"] = "RobertaProcessing";
  json["sep"] = token(*spec.end);
  json["cls"] = token(*spec.start);
  json["trim_offsets"] = true;
  json["add_prefix_space"] = spec.prefix_space;
  return json;
}

}  // namespace

ByteBpeSpec spec_from_tokenizer_json(std::string_view text, const std::string& what) {
  const Json json = parse_json(text, what, kLimits);
  const Json* found = json.find("model");
  if (found == nullptr || !found->is_object())
    throw Error(
        message(what, " has no model, so is no tokenizer.json; GPT-2's vocabulary is read with its merges"));
  const Json& model = *found;
  const std::string model_name = what + ": the model";
  if (const Json* type = model.find("type");
      type != nullptr && type->string(model_name + "'s \"type\"") != "BPE")
    throw Error(message(model_name, " is ", type->string(model_name), "; only BPE is supported"));
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json* value = model.find(name);
        is_given(value) && !(value->is_string() && value->string(name).empty()))
      throw Error(message(model_name, " has \"", name, "\", which is not supported"));
  for (const char* name : {"ignore_merges", "byte_fallback"})
    if (flag(model, name, model_name))
      throw Error(message(model_name, " has \"", name, "\", which is not supported"));

  ByteBpeSpec spec;
  if (const Json* added = json.find("added_tokens"); is_given(added))
    for (const Json& token : added->array(what + ": \"added_tokens\""))
      spec.added.push_back(read_added(token, what));
  read_normaliser(json.find("normalizer"), spec, what);
  read_pre_tokeniser(json.find("pre_tokenizer"), spec, what);
  read_ends(json.find("post_processor"), spec, what);
  const Ids ids = read_vocabulary(model.at("vocab", model_name), what);
  set_tokens(ids, spec, what);
  for (const Json& merge : model.at("merges", model_name).array(what + ": \"merges\"")) {
    if (merge.is_string()) {
      add_merge(merge.string(what), ids, spec, what);
      continue;
    }
    const size_t rank = spec.merges.size();
    const std::string name = message(what, ": merge ", rank);
    const Json::Array& pair = merge.array(name);
    if (pair.size() != 2) throw Error(message(name, " is not of two tokens"));
    spec.merges.emplace_back(merged_id(ids, pair[0].string(name), rank, what),
                             merged_id(ids, pair[1].string(name), rank, what));
  }
  return spec;
}

ByteBpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges,
                                 const std::string& what) {
  const Json json = parse_json(vocabulary, what, kLimits);
  if (const Json* model = json.find("model"); model != nullptr && model->is_object())
    throw Error(message(what, " is a tokenizer.json, which has its merges; leave --merges out"));
  const Ids ids = read_vocabulary(json, what);
  ByteBpeSpec spec;
  for (const char* name : {kEndOfText, "<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    const auto found = ids.find(name);
    if (found == ids.end()) continue;
    // RoBERTa's mask stands for a word with its space.
    spec.added.push_back(
        {.text = name, .id = found->second, .special = true, .strip_left = found->first == "<mask>"});
    if (found->first == "<s>") spec.start = found->second;
    if (found->first == "</s>" || found->first == kEndOfText) spec.end = found->second;
  }
  set_tokens(ids, spec, what);
  for (const std::string_view line : lines_of(merges)) {
    const bool version = line.data() == merges.data() && line.starts_with("#version");
    if (!line.empty() && !version) add_merge(line, ids, spec, what);
  }
  return spec;
}

std::string tokenizer_json(const ByteBpeSpec& spec, int indent) {
  Json::Object vocabulary;
  for (size_t t = 0; t < spec.tokens.size(); ++t)
    if (!spec.tokens[t].empty())
      vocabulary.emplace_back(bytes_to_characters(spec.tokens[t]), static_cast<int64_t>(t));
  Json::Array merges;
  for (const auto& [left, right] : spec.merges)
    merges.emplace_back(bytes_to_characters(spec.tokens[left]) + " " +
                        bytes_to_characters(spec.tokens[right]));
  Json json;
  json["version"] = "1.0";
  json["truncation"] = Json();
  json["padding"] = Json();
  Json::Array added;
  for (const AddedToken& token : spec.added) added.push_back(added_json(token));
  json["added_tokens"] = std::move(added);
  json["normalizer"] = Json();
  if (spec.nfc) json["normalizer"]["type"] = "NFC";
  json["pre_tokenizer"] = byte_level_json(spec.prefix_space);
  json["post_processor"] = post_processor_json(spec);
  json["decoder"] = byte_level_json(spec.prefix_space);
  Json& model = json["model"];
  model["type"] = "BPE";
  for (const char* name : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    model[name] = Json();
  for (const char* name : {"fuse_unk", "byte_fallback"}) model[name] = false;
  model["vocab"] = std::move(vocabulary);
  model["merges"] = std::move(merges);
  return json.dump(indent);
}

}  // namespace psm::nn
