#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "ckks/base/files/json.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {
namespace {

// The code point that stands for each byte.
constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> table{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table[byte] = printable ? byte : next++;
  }
  return table;
}

constexpr std::array<char32_t, 256> kCharacters = make_characters();
constexpr char32_t kEnd = 256 + 68;  // behind the last of them

constexpr std::array<int, kEnd> make_bytes() {
  std::array<int, kEnd> table{};
  table.fill(-1);
  for (int byte = 0; byte < 256; ++byte) table[kCharacters[byte]] = byte;
  return table;
}

constexpr std::array<int, kEnd> kByteOfCharacter = make_bytes();

// In the order of WordRule.
constexpr std::string_view kExpressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

Json typed(const char* type) { return Json::Object{{"type", type}}; }

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

// A token as the file writes it.
std::string written(const BpeSpec& spec, int id) {
  return spec.kind == BpeKind::kBytes ? bytes_to_characters(spec.tokens[id]) : spec.tokens[id];
}

// The same at the ends of a text, where it may be an added one.
std::string written_end(const BpeSpec& spec, int id) {
  const auto added = std::ranges::find(spec.added, id, &AddedToken::id);
  return added != spec.added.end() ? added->text : written(spec, id);
}

// A TemplateProcessing; null if nothing is added at the ends.
Json ends_json(const BpeSpec& spec) {
  const TextEnds& ends = spec.ends;
  if (!ends.start && !(ends.end && ends.end_is_added)) return Json();
  const auto piece = [](const char* kind, const std::string& id, int type) {
    return Json::Object{{kind, Json::Object{{"id", id}, {"type_id", type}}}};
  };
  Json single = Json(Json::Array{}), special = Json(Json::Object{});
  const auto add = [&](int id) {
    const std::string text = written_end(spec, id);
    single.push_back(piece("SpecialToken", text, 0));
    special[text] = Json::Object{{"id", text}, {"ids", Json::Array{id}}, {"tokens", Json::Array{Json(text)}}};
  };
  if (ends.start) add(*ends.start);
  single.push_back(piece("Sequence", "A", 0));
  if (ends.end && ends.end_is_added) add(*ends.end);
  Json pair = Json::Array{piece("Sequence", "A", 0), piece("Sequence", "B", 1)};
  const bool pieces = spec.kind == BpeKind::kWordPiece;
  // As BERT was trained, or RoBERTa, which has one type.
  if (pieces || (spec.kind == BpeKind::kBytes && ends.start && ends.end && ends.end_is_added)) {
    const int type = pieces ? 1 : 0;
    const auto add_end = [&] {
      if (ends.end) pair.push_back(piece("SpecialToken", written_end(spec, *ends.end), type));
    };
    pair = single;
    if (!pieces) add_end();
    pair.push_back(piece("Sequence", "B", type));
    add_end();
  }
  return Json::Object{{"type", "TemplateProcessing"},
                      {"single", single},
                      {"pair", std::move(pair)},
                      {"special_tokens", std::move(special)}};
}

bool prefix_space(const BpeSpec& spec) { return spec.prefix == SpacePrefix::kPieces; }

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
  Json json = ends_json(spec);
  return json.is_null() ? byte_level_json(prefix_space(spec), true) : json;
}

Json replace_json(const char* from, const char* to) {
  return Json::Object{{"type", "Replace"}, {"pattern", Json::Object{{"String", from}}}, {"content", to}};
}

Json metaspace_json(SpacePrefix prefix) {
  const char* where = prefix == SpacePrefix::kFirst    ? "first"
                      : prefix == SpacePrefix::kPieces ? "always"
                                                       : "never";
  return Json::Object{
      {"type", "Metaspace"}, {"replacement", kMetaspace}, {"prepend_scheme", where}, {"split", false}};
}

Json decoder_json(SpacePrefix prefix) {
  Json::Array parts{replace_json(kMetaspace, " "), typed("ByteFallback"), typed("Fuse")};
  if (prefix != SpacePrefix::kNever)
    parts.push_back(Json::Object{{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  return Json::Object{{"type", "Sequence"}, {"decoders", std::move(parts)}};
}

void add_rules_of_bytes(const BpeSpec& spec, Json& json) {
  json["normalizer"] = spec.nfc ? typed("NFC") : Json();
  json["pre_tokenizer"] = pre_tokeniser_json(spec);
  json["post_processor"] = post_processor_json(spec);
  json["decoder"] = byte_level_json(prefix_space(spec), true);
}

void add_rules_of_characters(const BpeSpec& spec, Json& json) {
  const bool prepend = spec.prefix == SpacePrefix::kAlways;
  Json::Array normalisers{Json::Object{{"type", "Prepend"}, {"prepend", kMetaspace}},
                          replace_json(" ", kMetaspace)};
  json["normalizer"] =
      prepend ? Json(Json::Object{{"type", "Sequence"}, {"normalizers", std::move(normalisers)}}) : Json();
  json["pre_tokenizer"] = prepend ? Json() : metaspace_json(spec.prefix);
  json["post_processor"] = ends_json(spec);
  json["decoder"] = decoder_json(spec.prefix);
}

void add_rules_of_word_piece(const BpeSpec& spec, Json& json) {
  json["normalizer"] = Json::Object{{"type", "BertNormalizer"},
                                    {"handle_chinese_chars", true},
                                    {"clean_text", true},
                                    {"strip_accents", spec.strips_accents},
                                    {"lowercase", spec.lower_case}};
  json["pre_tokenizer"] = typed("BertPreTokenizer");
  json["post_processor"] = ends_json(spec);
  json["decoder"] = Json::Object{{"type", "WordPiece"}, {"prefix", kContinued}, {"cleanup", true}};
}

}  // namespace

std::string_view expression_of(WordRule rule) { return kExpressions[static_cast<size_t>(rule)]; }

std::optional<WordRule> rule_of(std::string_view expression) {
  for (const WordRule rule : {WordRule::kGpt2, WordRule::kLlama3, WordRule::kQwen2})
    if (expression == expression_of(rule)) return rule;
  return std::nullopt;
}

std::string bytes_to_characters(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_utf8(out, kCharacters[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> characters_to_bytes(std::string_view characters) {
  std::string out;
  for (size_t at = 0; at < characters.size();) {
    const Utf8Character character = utf8_at(characters, at);
    if (character.bytes == 0 || character.code >= kEnd || kByteOfCharacter[character.code] < 0)
      return std::nullopt;
    out.push_back(static_cast<char>(kByteOfCharacter[character.code]));
    at += static_cast<size_t>(character.bytes);
  }
  return out;
}

std::string tokenizer_json(const BpeSpec& spec, int indent) {
  const bool characters = spec.kind == BpeKind::kCharacters, pieces = spec.kind == BpeKind::kWordPiece;
  if (spec.kept || (!characters && !pieces && spec.kind != BpeKind::kBytes)) return "";
  std::unordered_map<int, std::string_view> added;
  for (const AddedToken& token : spec.added) added.emplace(token.id, token.text);
  Json::Object vocabulary;
  for (size_t t = 0; t < spec.tokens.size(); ++t)
    if (const int id = static_cast<int>(t); !spec.tokens[t].empty()) {
      const auto found = added.find(id);
      vocabulary.emplace_back(found != added.end() ? std::string(found->second) : written(spec, id), id);
    }
  Json::Array merges;
  for (const auto& [left, right] : spec.merges) {
    const std::string first = written(spec, left), second = written(spec, right);
    merges.push_back(characters ? Json(Json::Array{first, second}) : Json(first + " " + second));
  }
  Json json = Json::Object{{"version", "1.0"},
                           {"truncation", Json()},
                           {"padding", Json()},
                           {"added_tokens", added_tokens_json(spec.added)}};
  (pieces ? add_rules_of_word_piece : characters ? add_rules_of_characters : add_rules_of_bytes)(spec, json);
  Json& model = json["model"];
  if (pieces) {
    model = Json::Object{{"type", "WordPiece"},
                         {"unk_token", spec.tokens[*spec.unknown]},
                         {"continuing_subword_prefix", kContinued},
                         {"max_input_chars_per_word", kLongestWord},
                         {"vocab", std::move(vocabulary)}};
    return json.dump(indent);
  }
  model["type"] = "BPE";
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    model[name] = Json();
  model["unk_token"] = spec.unknown ? Json(spec.tokens[*spec.unknown]) : Json();
  model["fuse_unk"] = spec.one_unknown;
  model["byte_fallback"] = characters;
  if (spec.whole_words) model["ignore_merges"] = true;
  model["vocab"] = std::move(vocabulary);
  model["merges"] = std::move(merges);
  return json.dump(indent);
}

}  // namespace psm::nn
