// Byte-pair encoding of characters, with bytes for those that the vocabulary lacks, as tokenizer.json has it
// of Llama 2 and Mistral (SentencePiece's, converted).
//
// A text is encoded in this order, as the `tokenizers` library does it:
//   1. added tokens are cut out (nn/text/bpe/added_tokens.h); what stands between them gets U+2581 for every
//      space and, as SpacePrefix says, one in front;
//   2. a character that is a token is that token; any other becomes its bytes, tokens named "<0xNN>", or the
//      unknown token if one of them is missing, several unknown ones in a row a single one if the file says
//      so;
//   3. of all that stands between two added tokens, the two neighbours whose merge has the lowest rank are
//      merged, the leftmost of equals, until no two have a merge.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/added_tokens.h"
#include "nn/text/bpe/merge_table.h"
#include "nn/text/bpe/text_ends.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {

enum class SpacePrefix {
  kNever,
  kFirst,   // in front of the text, unless it begins with a space or an added token ("Metaspace", "first")
  kPieces,  // in front of every piece that begins with none ("Metaspace", "always")
  kAlways,  // in front of every piece ("Prepend")
};

// What stands for a space in tokens.
inline constexpr const char* kMetaspace = "\u2581";

struct CharacterBpeSpec {
  std::vector<std::string>
      tokens;     // as the file has them, by id: U+2581 for spaces; empty where there is none
  Merges merges;  // in order of rank
  std::vector<AddedToken> added;
  SpacePrefix prefix = SpacePrefix::kAlways;
  std::optional<int> unknown;
  bool one_unknown = false;  // for several characters in a row
  TextEnds ends;
};

class CharacterBpe final : public Tokenizer {
 public:
  // Throws psm::Error that begins with `what`: two tokens of the same text, a merge of or into something that
  // is no token or that stands twice, an added token that contradicts another, an end or an unknown token
  // that does not exist.
  CharacterBpe(CharacterBpeSpec spec, const std::string& what);
  CharacterBpe(const CharacterBpe&) = delete;
  CharacterBpe& operator=(const CharacterBpe&) = delete;

  int vocab() const override { return vocab_; }
  // Throws psm::Error if the text is not UTF-8, or naming a character without token, bytes and unknown token.
  std::vector<int> encode(std::string_view text) const override;
  // Without the space that encode() puts in front of a text.
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;  // empty for an id that is no token
  std::optional<int> start() const override { return spec_.ends.start; }
  std::optional<int> end() const override { return spec_.ends.end; }

  const CharacterBpeSpec& spec() const { return spec_; }

 private:
  void append_characters(std::string_view text, std::vector<int>& tokens) const;

  CharacterBpeSpec spec_;
  AddedTokens added_;
  MergeTable merges_;
  int vocab_ = 0;
  std::array<int, 256> byte_token_{};  // -1: none
  std::vector<int> byte_of_;           // by token; -1: stands for none
};

}  // namespace psm::nn
