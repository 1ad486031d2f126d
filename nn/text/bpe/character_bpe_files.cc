#include "nn/text/bpe/character_bpe_files.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::nn {
namespace {

// The Replace of spaces.
bool is_replace(const Json& json, const std::string& what) {
  const Json* pattern = type_of(json, what) == "Replace" ? json.at("pattern", what).find("String") : nullptr;
  return pattern != nullptr && pattern->string(what) == " " &&
         json.at("content", what).string(what) == kMetaspace;
}

bool is_prepend(const Json& json, const std::string& what) {
  return type_of(json, what) == "Prepend" && json.at("prepend", what).string(what) == kMetaspace;
}

SpacePrefix metaspace_prefix(const Json& json, const std::string& what) {
  if (json.at("replacement", what).string(what) != kMetaspace)
    throw Error(message(what, " is a Metaspace of another character than U+2581", kWithout));
  const Json* split = json.find("split");
  if (split == nullptr || split->truth(what + "'s \"split\""))
    throw Error(message(what, " is a Metaspace that splits words, which is not supported", kWithout));
  const std::string scheme = json.at("prepend_scheme", what).string(what + "'s \"prepend_scheme\"");
  if (scheme == "first") return SpacePrefix::kFirst;
  if (scheme == "always") return SpacePrefix::kPieces;
  if (scheme == "never") return SpacePrefix::kNever;
  throw Error(
      message(what, "'s \"prepend_scheme\" is ", printable(scheme), "; first, always and never are known"));
}

SpacePrefix read_spaces(const Json& json, const std::string& file) {
  const std::string normaliser = file + ": the normalizer", pre_tokeniser = file + ": the pre_tokenizer";
  const auto parts = parts_of(json.find("normalizer"), "normalizers", normaliser);
  const auto cuts = parts_of(json.find("pre_tokenizer"), "pretokenizers", pre_tokeniser);
  if (parts.size() == 2 && cuts.empty() && is_prepend(*parts[0], normaliser) &&
      is_replace(*parts[1], normaliser))
    return SpacePrefix::kAlways;
  if (parts.empty() && cuts.size() == 1 && type_of(*cuts[0], pre_tokeniser) == "Metaspace")
    return metaspace_prefix(*cuts[0], pre_tokeniser);
  throw Error(
      message(file,
              " is a BPE with byte_fallback whose spaces are neither Prepend and Replace (Llama 2) nor a "
              "Metaspace; other normalizers and pre_tokenizers are not supported",
              kWithout));
}

Json replace_json(const char* from, const char* to) {
  Json json;
  json["type"] = "Replace";
  json["pattern"]["String"] = from;
  json["content"] = to;
  return json;
}

Json typed(const char* type) {
  Json json;
  json["type"] = type;
  return json;
}

Json sequence(const char* list, Json::Array parts) {
  Json json = typed("Sequence");
  json[list] = std::move(parts);
  return json;
}

Json metaspace_json(SpacePrefix prefix) {
  Json json = typed("Metaspace");
  json["replacement"] = kMetaspace;
  json["prepend_scheme"] = prefix == SpacePrefix::kFirst    ? "first"
                           : prefix == SpacePrefix::kPieces ? "always"
                                                            : "never";
  json["split"] = false;
  return json;
}

Json decoder_json(SpacePrefix prefix) {
  Json::Array parts{replace_json(kMetaspace, " "), typed("ByteFallback"), typed("Fuse")};
  if (prefix != SpacePrefix::kNever) {
    Json strip = typed("Strip");
    strip["content"] = " ";
    strip["start"] = 1;
    strip["stop"] = 0;
    parts.push_back(std::move(strip));
  }
  return sequence("decoders", std::move(parts));
}

}  // namespace

BpeSpec character_spec_from_tokenizer_json(const Json& json, const std::string& what) {
  const Json& model = bpe_model(json, what);
  const std::string model_name = what + ": the model";
  if (flag(model, "ignore_merges", model_name))
    throw Error(message(model_name, " has byte_fallback and ignore_merges, which are not supported together",
                        kWithout));
  BpeSpec spec;
  spec.kind = BpeKind::kCharacters;
  const TokenIds ids = read_vocabulary(model.at("vocab", model_name), what);
  spec.added = read_added_tokens(json, ids, what);
  spec.prefix = read_spaces(json, what);
  spec.ends = read_ends(json, spec.added, what);
  spec.one_unknown = flag(model, "fuse_unk", model_name);
  int last = 0;
  for (const auto& [text, id] : ids) last = std::max(last, id);
  spec.tokens.resize(static_cast<size_t>(last) + 1);
  for (const auto& [text, id] : ids) spec.tokens[id] = text;
  if (const Json* unknown = model.find("unk_token"); is_given(unknown)) {
    const std::string& text = unknown->string(model_name + "'s \"unk_token\"");
    const auto found = ids.find(text);
    if (found == ids.end())
      throw Error(message(model_name, "'s \"unk_token\", \"", printable(text), "\", is no token"));
    spec.unknown = found->second;
  }
  spec.merges = read_merges(model.at("merges", model_name), ids, what);
  return spec;
}

std::string character_tokenizer_json(const BpeSpec& spec, int indent) {
  Json::Object vocabulary;
  for (size_t t = 0; t < spec.tokens.size(); ++t)
    if (!spec.tokens[t].empty()) vocabulary.emplace_back(spec.tokens[t], static_cast<int64_t>(t));
  Json::Array merges;
  for (const auto& [left, right] : spec.merges)
    merges.push_back(Json::Array{spec.tokens[left], spec.tokens[right]});
  Json json;
  json["version"] = "1.0";
  json["truncation"] = Json();
  json["padding"] = Json();
  json["added_tokens"] = added_tokens_json(spec.added);
  const bool prepend = spec.prefix == SpacePrefix::kAlways;
  Json prepended = typed("Prepend");
  prepended["prepend"] = kMetaspace;
  json["normalizer"] =
      prepend ? sequence("normalizers", {std::move(prepended), replace_json(" ", kMetaspace)}) : Json();
  json["pre_tokenizer"] = prepend ? Json() : metaspace_json(spec.prefix);
  json["post_processor"] = ends_json(spec.ends, [&](int id) {
    const std::optional<std::string> added = added_text(spec.added, id);
    return added ? *added : spec.tokens[id];
  });
  json["decoder"] = decoder_json(spec.prefix);
  Json& model = json["model"];
  model["type"] = "BPE";
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    model[name] = Json();
  model["unk_token"] = spec.unknown ? Json(spec.tokens[*spec.unknown]) : Json();
  model["fuse_unk"] = spec.one_unknown;
  model["byte_fallback"] = true;
  model["vocab"] = std::move(vocabulary);
  model["merges"] = std::move(merges);
  return json.dump(indent);
}

}  // namespace psm::nn
