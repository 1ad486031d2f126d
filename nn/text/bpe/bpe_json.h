// The parts of tokenizer.json, the file of the `tokenizers` library, that every kind of BPE has.
//
// Files are untrusted. Sizes, depth and the number of values are bounded before anything is kept. A feature
// that is not supported is refused by name. Every error is a psm::Error of one line that begins with `file`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckks/base/files/json.h"
#include "nn/text/bpe/added_tokens.h"
#include "nn/text/bpe/bpe_spec.h"
#include "nn/text/bpe/text_ends.h"

namespace psm::nn {

inline constexpr size_t kMaxTokenizerBytes = size_t{32} << 20;
// The end of an error about an unsupported feature.
inline constexpr const char* kWithout = "; import the model with --tokenizer none to go on without";

Json parse_tokenizer_json(std::string_view text, const std::string& file);

bool is_given(const Json* json);  // there, and not null
std::string type_of(const Json& json, const std::string& what);
// Reads a member that may be missing, and one that may not.
bool flag(const Json& json, const char* name, const std::string& what);
bool required_flag(const Json& json, const char* name, const std::string& what);
// Returns the members of a Sequence, in the list of this name; anything else as the only part; nothing for null.
std::vector<const Json*> parts_of(const Json* json, const char* list, const std::string& what);

// Returns the model, a BPE without dropout, prefixes and suffixes. Throws Error too for files that the
// library does not read, with unknown members or members of another form. Members that decide no token are
// ignored: transformers turns truncation and padding off.
const Json& bpe_model(const Json& json, const std::string& file);
// Whether tokens are of characters, with bytes for missing ones (nn/text/bpe/bpe.h).
bool has_byte_fallback(const Json& model, const std::string& file);

// The vocabulary's ids, each once, by the characters of its tokens, which the JSON keeps.
using TokenIds = std::unordered_map<std::string_view, int>;
TokenIds read_vocabulary(const Json& vocabulary, const std::string& file);
Merges read_merges(const Json& merges, const TokenIds& ids, const std::string& file);
// "a b"
void add_merge(std::string_view line, const TokenIds& ids, Merges& merges, const std::string& file);

// Throws Error if an id differs from the library's: the vocabulary's id, or else the next free one after it.
std::vector<AddedToken> read_added_tokens(const Json& json, const TokenIds& ids, const std::string& file);
// Reads the ends from the post-processor, or else the end from the added tokens' names: <|endoftext|>, </s>
// or <|end_of_text|>.
TextEnds read_ends(const Json& json, const std::vector<AddedToken>& added, const std::string& file);

Json added_tokens_json(const std::vector<AddedToken>& added);
// Writes a TemplateProcessing; null if nothing is added at the ends. text(id) is the written form of a token.
Json ends_json(const TextEnds& ends, const std::function<std::string(int id)>& text);
// The text of an added token. Returns nullopt for other tokens.
std::optional<std::string> added_text(const std::vector<AddedToken>& added, int id);

}  // namespace psm::nn
