#include "nn/text/bpe/tokenizer_json.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "ckks/base/error.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/lines.h"

namespace psm::nn {
namespace {

constexpr JsonLimits kLimits{
    .max_bytes = kMaxTokenizerBytes, .max_depth = 12, .max_values = uint64_t{1} << 21};

[[noreturn]] void unsupported(const auto&... why) {
  throw Error(message(why..., "; import the model with --tokenizer none to go on without"));
}

// The vocabulary's ids, each once, by the characters of its tokens, which the JSON keeps.
using TokenIds = std::unordered_map<std::string_view, int>;

// There, and not null.
bool is_given(const Json* json) { return json != nullptr && !json->is_null(); }

std::string type_of(const Json& json, const std::string& what) {
  return json.at("type", what).string(what + " \"type\"");
}

// A member that may be missing, and one that may not.
bool flag(const Json& json, const char* name, const std::string& what) {
  const Json* value = json.find(name);
  return value != nullptr && value->truth(message(what, ": \"", name, "\""));
}

bool required_flag(const Json& json, const char* name, const std::string& what) {
  return json.at(name, what).truth(message(what, ": \"", name, "\""));
}

// The members of a Sequence, by its list's name; of anything else itself; nothing of null.
std::vector<const Json*> parts_of(const Json* json, const char* list, const std::string& what) {
  if (!is_given(json)) return {};
  if (type_of(*json, what) != "Sequence") return {json};
  std::vector<const Json*> parts;
  for (const Json& part : json->at(list, what).array(what)) parts.push_back(&part);
  return parts;
}

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
    unsupported(what, " (\"", visible(added.text), "\") is for whole words only; that is not supported");
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

bool is_word_piece(const Json& model, const std::string& what) {
  const Json* type = model.find("type");
  return type != nullptr && type->string(what + "'s \"type\"") == "WordPiece";
}

// What the library asks of a file besides what is read here.
void require_library_form(const Json& json, const std::string& file) {
  constexpr std::string_view kMembers[] = {"version",        "truncation", "padding",
                                           "added_tokens",   "normalizer", "pre_tokenizer",
                                           "post_processor", "decoder",    "model"};
  for (const auto& [name, value] : json.object(file))
    if (std::find(std::begin(kMembers), std::end(kMembers), name) == std::end(kMembers))
      unsupported(file, " has a member \"", visible(name), "\", which the tokenizers library does not know");
  if (const Json* version = json.find("version"))
    if (const std::string& text = version->string(file + ": \"version\""); text != "1.0")
      unsupported(file, ": version \"", visible(text), "\" is not known; only 1.0 is");
  require_object(json, "truncation", {"max_length", "strategy", "stride"}, file);
  require_object(json, "padding", {"strategy", "direction", "pad_id", "pad_type_id", "pad_token"}, file);
  require_object(json, "decoder", {"type"}, file);
}

// The model, which is a BPE without dropout, prefixes and suffixes, or a WordPiece.
const Json& known_model(const Json& json, const std::string& file) {
  const Json* found = json.find("model");
  if (found == nullptr || !found->is_object())
    throw Error(
        message(file, " has no model, so is no tokenizer.json; GPT-2's are vocab.json and merges.txt"));
  require_library_form(json, file);
  const std::string what = file + ": the model";
  if (const Json* unknown = found->find("unk_token"); is_given(unknown))
    unknown->string(what + "'s \"unk_token\"");
  if (is_given(found->find("fuse_unk"))) flag(*found, "fuse_unk", what);
  if (is_word_piece(*found, what)) return *found;
  if (const Json* type = found->find("type"); type != nullptr && type->string(what) != "BPE")
    unsupported(what, " is ", type->string(what), "; only BPE and WordPiece are supported");
  for (const char* name : {"dropout", "continuing_subword_prefix", "end_of_word_suffix"})
    if (const Json* value = found->find(name);
        is_given(value) && !(value->is_string() && value->string(name).empty()))
      unsupported(what, " has \"", name, "\", which is not supported");
  return *found;
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

int merged_id(const TokenIds& ids, std::string_view characters, size_t rank, const std::string& file) {
  const auto found = ids.find(characters);
  if (found == ids.end())
    throw Error(message(file, ": merge ", rank, " names \"", visible(characters), "\", which is no token"));
  return found->second;
}

// "a b"
void add_merge(std::string_view line, const TokenIds& ids, Merges& merges, const std::string& file) {
  const size_t rank = merges.size(), space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    throw Error(message(file, ": merge ", rank, ", \"", visible(line), "\", is not two tokens and a space"));
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

// Refuses one whose id is another than the library gives it: the vocabulary's, or else the next free one behind it.
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
      unsupported(file, ": the added token \"", visible(text), "\" has the id ", last.id,
                  ", and the tokenizers library gives it ", id);
    next = std::max(next, id + 1);
  }
  return added;
}

// Reads the ends of a RobertaProcessing or BertProcessing.
void read_processing(const Json& json, TextEnds& ends, const std::string& what) {
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
      unsupported(what, " puts more than one token in front of a text or behind it");
    place = static_cast<int>(all[0].integer(what + "'s \"ids\"", 0, kMaxTokens - 1));
    if (text) ends.end_is_added = true;
  }
}

// What the post-processor does not say of the end, the added tokens' names do.
TextEnds read_ends(const Json& json, const std::vector<AddedToken>& added, const std::string& file) {
  const std::string what = file + ": the post_processor";
  TextEnds ends;
  for (const Json* part : parts_of(json.find("post_processor"), "processors", what)) {
    const std::string type = type_of(*part, what);
    if (type == "RobertaProcessing" || type == "BertProcessing") read_processing(*part, ends, what);
    if (type == "TemplateProcessing") read_template(*part, ends, what);
  }
  for (const std::string_view name : {kEndOfText, "</s>", "<|end_of_text|>"})
    for (const AddedToken& token : added)
      if (!ends.end && token.text == name) ends.end = token.id;
  return ends;
}

// The tokens' texts: bytes, where they are written in byte-level characters, as all but added tokens must be.
void set_tokens(const TokenIds& ids, BpeSpec& spec, const std::string& what) {
  int last = 0;
  for (const auto& [characters, id] : ids) last = std::max(last, id);
  spec.tokens.resize(static_cast<size_t>(last) + 1);
  std::unordered_set<int> added;
  for (const AddedToken& token : spec.added) added.insert(token.id);
  for (const auto& [characters, id] : ids) {
    if (spec.kind != BpeKind::kBytes || added.contains(id)) {
      spec.tokens[id] = characters;
    } else if (const auto bytes = characters_to_bytes(characters); bytes && !bytes->empty()) {
      spec.tokens[id] = *bytes;
    } else {
      throw Error(message(what, ": token ", id, ", \"", visible(characters),
                          "\", is not written in byte-level characters"));
    }
  }
}

void read_normaliser(const Json* json, BpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the normalizer";
  for (const Json* part : parts_of(json, "normalizers", what)) {
    const std::string type = type_of(*part, what);
    if (type != "NFC") unsupported(what, " is ", type, "; only NFC is supported");
    spec.nfc = true;
  }
}

// A Split that keeps what its expression matches as words of their own.
WordRule read_split(const Json& json, const std::string& what) {
  const Json* expression = json.at("pattern", what).find("Regex");
  if (expression == nullptr || json.at("behavior", what).string(what) != "Isolated" ||
      flag(json, "invert", what))
    throw Error(message(what, " splits otherwise than into the words of a regular expression"));
  const std::optional<WordRule> rule = rule_of(expression->string(what + "'s expression"));
  if (!rule)
    unsupported(what, " has the expression ", visible(expression->string(what)),
                "; only those of GPT-2, Llama 3 and Qwen 2 are supported");
  return *rule;
}

void read_pre_tokeniser(const Json* json, BpeSpec& spec, const std::string& file) {
  const std::string what = file + ": the pre_tokenizer";
  const std::vector<const Json*> parts = parts_of(json, "pretokenizers", what);
  if (parts.empty()) throw Error(what + " is missing; only ByteLevel is supported");
  const Json& last = *parts.back();
  if (type_of(last, what) != "ByteLevel" || parts.size() > 2)
    unsupported(what, " is ", type_of(*parts[0], what),
                "; only ByteLevel, alone or behind one Split or Digits, is supported");
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
  if (spec.prefix == SpacePrefix::kPieces)
    throw Error(message(what, " puts a space in front of every part, which is not supported"));
}

// Turns tokens into bytes, as decode() does.
void read_decoder(const Json* json, const std::string& file) {
  if (!is_given(json)) return;
  const std::string what = file + ": the decoder";
  if (const std::string type = type_of(*json, what); type != "ByteLevel")
    unsupported(what, " is ", type, "; only ByteLevel is supported");
  for (const char* name : {"add_prefix_space", "trim_offsets"}) required_flag(*json, name, what);
  flag(*json, "use_regex", what);
}

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
    unsupported(what, " is a Metaspace of another character than U+2581");
  const Json* split = json.find("split");
  if (split == nullptr || split->truth(what + "'s \"split\""))
    unsupported(what, " is a Metaspace that splits words, which is not supported");
  const std::string scheme = json.at("prepend_scheme", what).string(what + "'s \"prepend_scheme\"");
  if (scheme == "first") return SpacePrefix::kFirst;
  if (scheme == "always") return SpacePrefix::kPieces;
  if (scheme == "never") return SpacePrefix::kNever;
  throw Error(
      message(what, "'s \"prepend_scheme\" is ", visible(scheme), "; first, always and never are known"));
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
  unsupported(file,
              " is a BPE with byte_fallback whose spaces are neither Prepend and Replace (Llama 2) nor a "
              "Metaspace; other normalizers and pre_tokenizers are not supported");
}

std::optional<int> read_unknown(const Json& model, const TokenIds& ids, const std::string& what) {
  const Json* unknown = model.find("unk_token");
  if (!is_given(unknown)) return std::nullopt;
  const std::string& text = unknown->string(what + "'s \"unk_token\"");
  const auto found = ids.find(text);
  if (found == ids.end())
    throw Error(message(what, "'s \"unk_token\", \"", visible(text), "\", is no token"));
  return found->second;
}

// What is said of BERT's words and pieces in only one way here.
void read_word_piece(const Json& json, const Json& model, BpeSpec& spec, const std::string& file) {
  spec.kind = BpeKind::kWordPiece;
  const std::string what = file + ": the model";
  const auto require = [&](bool good, const char* why) {
    if (!good) unsupported(file, ": WordPiece ", why, " is not supported");
  };
  require(model.at("continuing_subword_prefix", what).string(what) == kContinued,
          "with another sign than ##");
  require(model.at("max_input_chars_per_word", what).integer(what, 0, INT64_MAX) == kLongestWord,
          "of words of more or less than 100 characters");
  const auto is = [&](const Json* part, const char* type) {
    return is_given(part) && type_of(*part, what) == type;
  };
  require(is(json.find("pre_tokenizer"), "BertPreTokenizer") && is(json.find("normalizer"), "BertNormalizer"),
          "without BertNormalizer and BertPreTokenizer");
  const Json& normaliser = *json.find("normalizer");
  require(required_flag(normaliser, "clean_text", what) &&
              required_flag(normaliser, "handle_chinese_chars", what),
          "that keeps control characters, or Chinese characters together,");
  spec.lower_case = required_flag(normaliser, "lowercase", what);
  const bool given = is_given(normaliser.find("strip_accents"));
  spec.strips_accents = given ? required_flag(normaliser, "strip_accents", what) : spec.lower_case;
}

}  // namespace

BpeSpec read_tokenizer_json(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file + " (the tokenizer)", kLimits);
  const Json& model = known_model(json, file);
  const std::string what = file + ": the model";
  BpeSpec spec;
  spec.whole_words = flag(model, "ignore_merges", what);
  if (is_word_piece(model, what)) {
    read_word_piece(json, model, spec, file);
  } else if (flag(model, "byte_fallback", what)) {
    spec.kind = BpeKind::kCharacters;
    if (spec.whole_words)
      unsupported(what, " has byte_fallback and ignore_merges, which are not supported together");
    spec.prefix = read_spaces(json, file);
    spec.one_unknown = flag(model, "fuse_unk", what);
  } else {
    read_normaliser(json.find("normalizer"), spec, file);
    read_pre_tokeniser(json.find("pre_tokenizer"), spec, file);
    read_decoder(json.find("decoder"), file);
  }
  const TokenIds ids = read_vocabulary(model.at("vocab", what), file);
  if (spec.kind != BpeKind::kBytes) spec.unknown = read_unknown(model, ids, what);
  spec.added = read_added_tokens(json, ids, file);
  spec.ends = read_ends(json, spec.added, file);
  set_tokens(ids, spec, file);
  if (spec.kind != BpeKind::kWordPiece) spec.merges = read_merges(model.at("merges", what), ids, file);
  return spec;
}

BpeSpec spec_from_vocabulary(std::string_view lines, std::string_view config, const std::string& what) {
  BpeSpec spec;
  spec.kind = BpeKind::kWordPiece;
  const Json json =
      config.empty() ? Json(Json::Object{}) : parse_json(config, what + "'s tokenizer_config.json");
  const auto given = [&](const char* name) { return is_given(json.find(name)); };
  if (given("tokenize_chinese_chars") && !required_flag(json, "tokenize_chinese_chars", what))
    unsupported(what, ": Chinese characters that stay together are not supported");
  spec.lower_case = !given("do_lower_case") || required_flag(json, "do_lower_case", what);
  spec.strips_accents = given("strip_accents") ? required_flag(json, "strip_accents", what) : spec.lower_case;
  if (std::count(lines.begin(), lines.end(), '\n') > kMaxTokens)
    throw Error(message(what, " has more than ", kMaxTokens, " lines, a token each"));
  for (const std::string_view line : lines_of(lines)) {
    const int id = static_cast<int>(spec.tokens.size());
    if (utf8_valid_prefix(line) < line.size())
      throw Error(message(what, ": the token of line ", id + 1, " is not UTF-8; convert the file"));
    spec.tokens.emplace_back(line);
    for (const std::string_view name : {"[UNK]", "[SEP]", "[PAD]", "[CLS]", "[MASK]"})
      if (line == name) {
        spec.added.push_back({.text = spec.tokens.back(), .id = id, .special = true});
        take_end(spec.ends, line, id);
      }
    if (line == "[UNK]") spec.unknown = id;
  }
  return spec;
}

BpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges, const std::string& what) {
  const Json json = parse_json(vocabulary, what + " (the tokenizer)", kLimits);  // which the ids refer to
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

}  // namespace psm::nn
