// The parts of a byte-pair or WordPiece tokenizer, whether it was read or trained; nn/text/bpe/tokenizer.h runs it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nn/text/bpe/added_tokens.h"
#include "nn/text/bpe/byte_level.h"

namespace psm::nn {

enum class BpeKind : uint8_t {
  kAlphabet = 1,  // each byte of a text is a token; none are merged
  kBytes,         // of a word of UTF-8 (GPT-2, RoBERTa, GPT-NeoX, Llama 3, Qwen, SmolLM)
  kCharacters,    // of UTF-8, U+2581 for a space (Llama 2 and Mistral, as tokenizer.json has them)
  kLlama2,  // characters of any bytes; scores instead of merges, tokens 0 to 2 unknown, start and end (llama2.c)
  kWordPiece,  // of BERT's words (bert_words.h); none are merged; "##" begins a token that continues a word
};

enum class SpacePrefix {
  kNever,
  kFirst,   // in front of the text, unless it begins with a space or an added token ("Metaspace", "first")
  kPieces,  // in front of every piece that begins with none ("Metaspace", "always"; "add_prefix_space")
  kAlways,  // in front of every piece ("Prepend")
};

// The character for a space in tokens of characters, and the sign of a word that goes on.
inline constexpr const char *kMetaspace = "\u2581", *kContinued = "##";
inline constexpr size_t kLongestWord = 100;  // characters; WordPiece takes a longer word for unknown

using Merges = std::vector<std::pair<int, int>>;  // in order of rank: two ids; what they make is a token

// A model that reads a part of a vocabulary has other ids: <s> = 0, </s> = 1, <unk> = 2, then the kept tokens in their
// order. All others are <unk>. A text is encoded with one space in front, so that a word has the same tokens wherever it
// is, and enclosed by <s> and </s> (nn/text/sentences.h).
struct KeptTokens {
  static constexpr int kStart = 0, kEnd = 1, kUnknown = 2, kFirst = 3;
  std::vector<int> ids;  // rising
};

// The tokens that begin and end a text.
struct TextEnds {
  std::optional<int> start, end;
  bool end_is_added = false;  // by the `tokenizers` library's encode(), as it adds `start`
};

struct BpeSpec {
  BpeKind kind = BpeKind::kBytes;
  std::vector<std::string> tokens;  // by id; empty where no token of that id can be merged
  Merges merges;
  // By token, in place of merges: two neighbours whose texts together are a token merge, the highest score first.
  std::vector<float> scores;
  std::vector<AddedToken> added;
  TextEnds ends;
  SpacePrefix prefix = SpacePrefix::kNever;
  // For bytes.
  WordRule rule = WordRule::kGpt2;
  bool nfc = false;            // texts are brought to normalisation form C first
  bool single_digits = false;  // numbers are cut out first, a word each
  bool whole_words = false;    // a word that is a token is not merged ("ignore_merges")
  // For characters and WordPiece.
  std::optional<int> unknown;
  bool one_unknown = false;  // for several characters in a row
  // For WordPiece.
  bool strips_accents = false, lower_case = false;
  std::optional<KeptTokens> kept;  // none: all
};

}  // namespace psm::nn
