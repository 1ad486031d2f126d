#include "nn/text/bpe/byte_bpe_files.h"

#include <algorithm>
#include <unordered_set>

#include "ckks/base/error.h"
#include "nn/text/bpe/byte_level_files.h"
#include "nn/text/lines.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {
namespace {

// The tokens' bytes. A token that is not written in byte-level characters must be an added one.
void set_tokens(const TokenIds& ids, BpeSpec& spec, const std::string& what) {
  int last = 0;
  for (const auto& [characters, id] : ids) last = std::max(last, id);
  spec.tokens.resize(static_cast<size_t>(last) + 1);
  std::unordered_set<int> added;
  for (const AddedToken& token : spec.added) added.insert(token.id);
  for (const auto& [characters, id] : ids) {
    if (const auto bytes = characters_to_bytes(characters); bytes && !bytes->empty()) {
      spec.tokens[id] = *bytes;
    } else if (!added.contains(id)) {
      throw Error(message(what, ": token ", id, ", \"", printable(characters),
                          "\", is not written in byte-level characters"));
    }
  }
}

void read_normaliser(const Json* json, BpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the normalizer";
  for (const Json* part : parts_of(json, "normalizers", what)) {
    const std::string type = type_of(*part, what);
    if (type != "NFC") throw Error(message(what, " is ", type, "; only NFC is supported", kWithout));
    spec.nfc = true;
  }
}

bool prefix_space(const BpeSpec& spec) { return spec.prefix == SpacePrefix::kPieces; }

// A Split that keeps what its expression matches as words of their own.
WordRule read_split(const Json& json, const std::string& what) {
  const Json* expression = json.at("pattern", what).find("Regex");
  if (expression == nullptr || json.at("behavior", what).string(what) != "Isolated" ||
      flag(json, "invert", what))
    throw Error(message(what, " splits otherwise than into the words of a regular expression"));
  const std::optional<WordRule> rule = rule_of(expression->string(what + "'s expression"));
  if (!rule)
    throw Error(message(what, " has the expression ", printable(expression->string(what)),
                        "; only those of GPT-2, Llama 3 and Qwen 2 are supported", kWithout));
  return *rule;
}

void read_pre_tokeniser(const Json* json, BpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the pre_tokenizer";
  const std::vector<const Json*> parts = parts_of(json, "pretokenizers", what);
  if (parts.empty()) throw Error(what + " is missing; only ByteLevel is supported");
  const Json& last = *parts.back();
  if (type_of(last, what) != "ByteLevel" || parts.size() > 2)
    throw Error(message(what, " is ", type_of(*parts[0], what),
                        "; only ByteLevel, alone or behind one Split or Digits, is supported", kWithout));
  const Json* own = last.find("use_regex");
  const bool own_expression = own == nullptr || own->truth(what + "'s \"use_regex\"");
  if (required_flag(last, "add_prefix_space", what)) spec.prefix = SpacePrefix::kPieces;
  required_flag(last, "trim_offsets", what);
  if (parts.size() == 1) {
    if (!own_expression) throw Error(what + " is ByteLevel without an expression, which is not supported");
    return;
  }
  const std::string first = type_of(*parts[0], what);
  if (first == "Split" && !own_expression) {
    spec.rule = read_split(*parts[0], what);
  } else if (first == "Digits" && own_expression && flag(*parts[0], "individual_digits", what)) {
    spec.single_digits = true;
  } else {
    throw Error(message(what, " has ", first, " before a ByteLevel that does not go with it"));
  }
  if (prefix_space(spec))
    throw Error(message(what, " puts a space in front of every part, which is not supported"));
}

// Turns tokens into bytes, as decode() does.
void read_decoder(const Json* json, const std::string& file) {
  if (!is_given(json)) return;
  const std::string what = file + ": the decoder";
  if (const std::string type = type_of(*json, what); type != "ByteLevel")
    throw Error(message(what, " is ", type, "; only ByteLevel is supported", kWithout));
  for (const char* name : {"add_prefix_space", "trim_offsets"}) required_flag(*json, name, what);
  flag(*json, "use_regex", what);
}

Json byte_level_json(bool space_in_front, bool own_expression) {
  return Json::Object{{"type", "ByteLevel"},
                      {"add_prefix_space", space_in_front},
                      {"trim_offsets", true},
                      {"use_regex", own_expression}};
}

Json pre_tokeniser_json(const BpeSpec& spec) {
  const bool own_expression = spec.rule == WordRule::kGpt2;
  Json byte_level = byte_level_json(prefix_space(spec), own_expression);
  if (own_expression && !spec.single_digits) return byte_level;
  Json first = spec.single_digits
                   ? Json::Object{{"type", "Digits"}, {"individual_digits", true}}
                   : Json::Object{{"type", "Split"},
                                  {"pattern", Json::Object{{"Regex", std::string(expression_of(spec.rule))}}},
                                  {"behavior", "Isolated"},
                                  {"invert", false}};
  return Json::Object{{"type", "Sequence"},
                      {"pretokenizers", Json::Array{std::move(first), std::move(byte_level)}}};
}

Json post_processor_json(const BpeSpec& spec) {
  const TextEnds& ends = spec.ends;
  const auto text = [&](int id) {
    const std::optional<std::string> added = added_text(spec.added, id);
    return added ? *added : bytes_to_characters(spec.tokens[id]);
  };
  if (!ends.start || !ends.end || !ends.end_is_added) {
    Json json = ends_json(ends, text);
    return json.is_null() ? byte_level_json(prefix_space(spec), true) : json;
  }
  const auto token = [&](int id) { return Json::Array{text(id), id}; };
  return Json::Object{{"type", "RobertaProcessing"},
                      {"sep", token(*ends.end)},
                      {"cls", token(*ends.start)},
                      {"trim_offsets", true},
                      {"add_prefix_space", prefix_space(spec)}};
}

}  // namespace

BpeSpec spec_from_tokenizer_json(const Json& json, const std::string& what) {
  const Json& model = bpe_model(json, what);
  const std::string model_name = what + ": the model";
  BpeSpec spec;
  spec.whole_words = flag(model, "ignore_merges", model_name);
  read_normaliser(json.find("normalizer"), spec, what);
  read_pre_tokeniser(json.find("pre_tokenizer"), spec, what);
  read_decoder(json.find("decoder"), what);
  const TokenIds ids = read_vocabulary(model.at("vocab", model_name), what);
  spec.added = read_added_tokens(json, ids, what);
  spec.ends = read_ends(json, spec.added, what);
  set_tokens(ids, spec, what);
  spec.merges = read_merges(model.at("merges", model_name), ids, what);
  return spec;
}

BpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges, const std::string& what) {
  const Json json = parse_tokenizer_json(vocabulary, what);
  if (const Json* model = json.find("model"); model != nullptr && model->is_object())
    throw Error(message(what, " is a tokenizer.json, which has its merges; leave --merges out"));
  const TokenIds ids = read_vocabulary(json, what);
  BpeSpec spec;
  for (const char* name : {kEndOfText, "<s>", "<pad>", "</s>", "<unk>", "<mask>"}) {
    const auto found = ids.find(name);
    if (found == ids.end()) continue;
    // RoBERTa's mask stands for a word with its space.
    spec.added.push_back(
        {.text = name, .id = found->second, .special = true, .strip_left = found->first == "<mask>"});
    take_end(spec.ends, name, found->second);
  }
  set_tokens(ids, spec, what);
  for (const std::string_view line : lines_of(merges)) {
    const bool version = line.data() == merges.data() && line.starts_with("#version");
    if (!line.empty() && !version) add_merge(line, ids, spec.merges, what);
  }
  return spec;
}

std::string tokenizer_json(const BpeSpec& spec, int indent) {
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
  json["added_tokens"] = added_tokens_json(spec.added);
  json["normalizer"] = Json();
  if (spec.nfc) json["normalizer"]["type"] = "NFC";
  json["pre_tokenizer"] = pre_tokeniser_json(spec);
  json["post_processor"] = post_processor_json(spec);
  json["decoder"] = byte_level_json(prefix_space(spec), true);
  Json& model = json["model"];
  model["type"] = "BPE";
  for (const char* name : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix"})
    model[name] = Json();
  for (const char* name : {"fuse_unk", "byte_fallback"}) model[name] = false;
  if (spec.whole_words) model["ignore_merges"] = true;
  model["vocab"] = std::move(vocabulary);
  model["merges"] = std::move(merges);
  return json.dump(indent);
}

}  // namespace psm::nn
