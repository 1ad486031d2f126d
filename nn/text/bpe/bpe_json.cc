#include "nn/text/bpe/bpe_json.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {
namespace {

constexpr JsonLimits kLimits{
    .max_bytes = kMaxTokenizerBytes, .max_depth = 12, .max_values = uint64_t{1} << 21};

AddedToken read_added(const Json& json, const std::string& file) {
  const std::string what = file + ": an added token";
  AddedToken added;
  added.text = json.at("content", what).string(what + "'s \"content\"");
  added.id = static_cast<int>(json.at("id", what).integer(what + "'s \"id\"", 0, kMaxTokens - 1));
  added.special = required_flag(json, "special", what);
  added.normalised = required_flag(json, "normalized", what);
  added.strip_left = required_flag(json, "lstrip", what);
  added.strip_right = required_flag(json, "rstrip", what);
  if (required_flag(json, "single_word", what))
    throw Error(message(what, " (\"", printable(added.text),
                        "\") is for whole words only; that is not supported", kWithout));
  return added;
}

// A member that the library reads, where it is given, as an object with these members.
void require_object(const Json& json, const char* name, std::initializer_list<const char*> members,
                    const std::string& file) {
  const Json* object = json.find(name);
  if (!is_given(object)) return;
  const std::string what = message(file, ": \"", name, "\"");
  if (!object->is_object()) throw Error(what + " is no JSON object");
  for (const char* member : members) object->at(member, what);
}

// What the library asks of a file besides what is read here.
void require_library_form(const Json& json, const std::string& file) {
  constexpr std::string_view kMembers[] = {"version",        "truncation", "padding",
                                           "added_tokens",   "normalizer", "pre_tokenizer",
                                           "post_processor", "decoder",    "model"};
  for (const auto& [name, value] : json.object(file))
    if (std::find(std::begin(kMembers), std::end(kMembers), name) == std::end(kMembers))
      throw Error(message(file, " has a member \"", printable(name),
                          "\", which the tokenizers library does not know", kWithout));
  if (const Json* version = json.find("version"))
    if (const std::string& text = version->string(file + ": \"version\""); text != "1.0")
      throw Error(message(file, ": version \"", printable(text), "\" is not known; only 1.0 is", kWithout));
  require_object(json, "truncation", {"max_length", "strategy", "stride"}, file);
  require_object(json, "padding", {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"}, file);
  require_object(json, "decoder", {"type"}, file);
}

int merged_id(const TokenIds& ids, std::string_view characters, size_t rank, const std::string& file) {
  const auto found = ids.find(characters);
  if (found == ids.end())
    throw Error(message(file, ": merge ", rank, " names \"", printable(characters), "\", which is no token"));
  return found->second;
}

// Reads the ends of a RobertaProcessing.
void read_roberta(const Json& json, TextEnds& ends, const std::string& what) {
  const auto id_of = [&](const char* name) {
    const Json::Array& pair = json.at(name, what).array(what + "'s \"" + name + "\"");
    if (pair.size() != 2) throw Error(message(what, "'s \"", name, "\" is no token and its id"));
    return static_cast<int>(pair[1].integer(what + "'s \"" + name + "\" id", 0, kMaxTokens - 1));
  };
  ends = {.start = id_of("cls"), .end = id_of("sep"), .end_is_added = true};
}

// Reads the ends of a TemplateProcessing: a single text with at most one token on each side of it.
void read_template(const Json& json, TextEnds& ends, const std::string& what) {
  bool text = false;
  for (const Json& piece : json.at("single", what).array(what + "'s \"single\"")) {
    if (piece.find("Sequence") != nullptr) {
      text = true;
      continue;
    }
    const std::string& name = piece.at("SpecialToken", what).at("id", what).string(what + "'s token");
    const Json& ids = json.at("special_tokens", what).at(name, what).at("ids", what);
    const Json::Array& all = ids.array(what + "'s \"ids\"");
    std::optional<int>& place = text ? ends.end : ends.start;
    if (all.size() != 1 || place)
      throw Error(message(what, " puts more than one token in front of a text or behind it", kWithout));
    place = static_cast<int>(all[0].integer(what + "'s \"ids\"", 0, kMaxTokens - 1));
    if (text) ends.end_is_added = true;
  }
}

}  // namespace

Json parse_tokenizer_json(std::string_view text, const std::string& file) {
  return parse_json(text, file + " (the tokenizer)", kLimits);
}

bool is_given(const Json* json) { return json != nullptr && !json->is_null(); }

std::string type_of(const Json& json, const std::string& what) {
  return json.at("type", what).string(what + " \"type\"");
}

bool flag(const Json& json, const char* name, const std::string& what) {
  const Json* value = json.find(name);
  return value != nullptr && value->truth(message(what, ": \"", name, "\""));
}

bool required_flag(const Json& json, const char* name, const std::string& what) {
  return json.at(name, what).truth(message(what, ": \"", name, "\""));
}

std::vector<const Json*> parts_of(const Json* json, const char* list, const std::string& what) {
  if (!is_given(json)) return {};
  if (type_of(*json, what) != "Sequence") return {json};
  std::vector<const Json*> parts;
  for (const Json& part : json->at(list, what).array(what)) parts.push_back(&part);
  return parts;
}

const Json& bpe_model(const Json& json, const std::string& file) {
  const Json* found = json.find("model");
  if (found == nullptr || !found->is_object())
    throw Error(
        message(file, " has no model, so is no tokenizer.json; GPT-2's vocabulary is read with its merges"));
  require_library_form(json, file);
  const std::string what = file + ": the model";
  if (const Json* unknown = found->find("unk_token"); is_given(unknown))
    unknown->string(what + "'s \"unk_token\"");
  if (is_given(found->find("fuse_unk"))) flag(*found, "fuse_unk", what);
  if (const Json* type = found->find("type"); type != nullptr && type->string(what + "'s \"type\"") != "BPE")
    throw Error(message(what, " is ", type->string(what), "; only BPE is supported", kWithout));
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json* value = found->find(name);
        is_given(value) && !(value->is_string() && value->string(name).empty()))
      throw Error(message(what, " has \"", name, "\", which is not supported", kWithout));
  return *found;
}

bool has_byte_fallback(const Json& model, const std::string& file) {
  return flag(model, "byte_fallback", file + ": the model");
}

TokenIds read_vocabulary(const Json& vocabulary, const std::string& file) {
  TokenIds ids;
  std::vector<bool> taken;
  for (const auto& [characters, value] : vocabulary.object(message(file, ": the vocabulary"))) {
    const int id = static_cast<int>(
        value.integer(message(file, ": the id of token \"", characters, "\""), 0, kMaxTokens - 1));
    ids.emplace(characters, id);
    if (static_cast<size_t>(id) >= taken.size()) taken.resize(static_cast<size_t>(id) + 1);
    if (taken[id]) throw Error(message(file, ": two tokens have the id ", id));
    taken[id] = true;
  }
  if (ids.empty()) throw Error(message(file, ": the vocabulary is empty"));
  return ids;
}

void add_merge(std::string_view line, const TokenIds& ids, Merges& merges, const std::string& file) {
  const size_t rank = merges.size(), space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    throw Error(
        message(file, ": merge ", rank, ", \"", printable(line), "\", is not two tokens and a space"));
  merges.emplace_back(merged_id(ids, line.substr(0, space), rank, file),
                      merged_id(ids, line.substr(space + 1), rank, file));
}

Merges read_merges(const Json& json, const TokenIds& ids, const std::string& file) {
  Merges merges;
  for (const Json& merge : json.array(file + ": \"merges\"")) {
    if (merge.is_string()) {
      add_merge(merge.string(file), ids, merges, file);
      continue;
    }
    const size_t rank = merges.size();
    const std::string name = message(file, ": merge ", rank);
    const Json::Array& pair = merge.array(name);
    if (pair.size() != 2) throw Error(message(name, " is not of two tokens"));
    merges.emplace_back(merged_id(ids, pair[0].string(name), rank, file),
                        merged_id(ids, pair[1].string(name), rank, file));
  }
  return merges;
}

std::vector<AddedToken> read_added_tokens(const Json& json, const TokenIds& ids, const std::string& file) {
  std::vector<AddedToken> added;
  const Json* tokens = json.find("added_tokens");
  if (tokens == nullptr) return added;
  std::unordered_map<std::string_view, int> taken;
  int next = static_cast<int>(ids.size());
  for (const Json& token : tokens->array(file + ": \"added_tokens\"")) {
    added.push_back(read_added(token, file));
    const AddedToken& last = added.back();
    const std::string& text = token.at("content", file).string(file);
    const auto in_vocabulary = ids.find(text);
    const int id =
        in_vocabulary != ids.end() ? in_vocabulary->second : taken.try_emplace(text, next).first->second;
    if (last.id != id)
      throw Error(message(file, ": the added token \"", printable(text), "\" has the id ", last.id,
                          ", and the tokenizers library gives it ", id, kWithout));
    next = std::max(next, id + 1);
  }
  return added;
}

TextEnds read_ends(const Json& json, const std::vector<AddedToken>& added, const std::string& file) {
  const std::string what = file + ": the post_processor";
  TextEnds ends;
  for (const Json* part : parts_of(json.find("post_processor"), "processors", what)) {
    const std::string type = type_of(*part, what);
    if (type == "RobertaProcessing") read_roberta(*part, ends, what);
    if (type == "TemplateProcessing") read_template(*part, ends, what);
  }
  for (const std::string_view name : {kEndOfText, "</s>", "<|end_of_text|>"})
    for (const AddedToken& token : added)
      if (!ends.end && token.text == name) ends.end = token.id;
  return ends;
}

Json added_tokens_json(const std::vector<AddedToken>& added) {
  Json tokens = Json(Json::Array{});
  for (const AddedToken& token : added)
    tokens.push_back(Json::Object{{"id", token.id},
                                  {"content", token.text},
                                  {"single_word", false},
                                  {"lstrip", token.strip_left},
                                  {"rstrip", token.strip_right},
                                  {"normalized", token.normalised},
                                  {"special", token.special}});
  return tokens;
}

std::optional<std::string> added_text(const std::vector<AddedToken>& added, int id) {
  const auto found =
      std::find_if(added.begin(), added.end(), [&](const AddedToken& token) { return token.id == id; });
  if (found == added.end()) return std::nullopt;
  return found->text;
}

Json ends_json(const TextEnds& ends, const std::function<std::string(int id)>& text_of) {
  if (!ends.start && !(ends.end && ends.end_is_added)) return Json();
  const auto piece = [](const char* kind, const std::string& id, int type) {
    return Json::Object{{kind, Json::Object{{"id", id}, {"type_id", type}}}};
  };
  Json single = Json(Json::Array{}), special = Json(Json::Object{});
  const auto add = [&](int id) {
    const std::string text = text_of(id);
    single.push_back(piece("SpecialToken", text, 0));
    special[text] = Json::Object{{"id", text}, {"ids", Json::Array{id}}, {"tokens", Json::Array{Json(text)}}};
  };
  if (ends.start) add(*ends.start);
  single.push_back(piece("Sequence", "A", 0));
  if (ends.end && ends.end_is_added) add(*ends.end);
  return Json::Object{{"type", "TemplateProcessing"},
                      {"single", single},
                      {"pair", Json::Array{piece("Sequence", "A", 0), piece("Sequence", "B", 1)}},
                      {"special_tokens", std::move(special)}};
}

}  // namespace psm::nn
