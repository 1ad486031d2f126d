// A tokenizer turns a text into the tokens of a model and back.
//
//     encode: bytes -> tokens in [0, vocab)       decode: tokens -> bytes
//
// It is byte-pair encoding (Sennrich et al., arXiv 1508.07909), of bytes (GPT-2's idea) or of characters; and BERT's
// WordPiece, which differs in how a word becomes tokens.
//
// A text is encoded in this order, as in the `tokenizers` library, and in llama2.c for its files:
//   1. added tokens are cut out, and the rest is normalised (nn/text/bpe/added_tokens.h);
//   2. a piece between two of them gets a space in front, as SpacePrefix says. It is one word, or is cut into words
//      (nn/text/bpe/byte_level.h);
//   3. if tokens are of characters, a character that is a token becomes that token. Any other character becomes its
//      bytes, tokens of one byte or named "<0xNN>", or the unknown token if one of these is missing;
//   4. in a word, the two neighbours whose merge has the lowest rank are merged, the leftmost of equals, until no two
//      have a merge.
//
// WordPiece, of BERT's words (nn/text/bpe/bert_words.h): the longest token that begins the word, then the longest that
// continues it, and so on. A word of which this leaves a rest, or of more than kLongestWord characters, is the unknown
// token.
//
// So decode(encode(text)) is the normalised text, except for white space that an added token takes with it and, for
// bytes, a space in front; for WordPiece, words with one space between them. No token is added at the ends; start() and
// end() say which ones a model expects there. A word of n bytes takes O(n log n) time and O(n) memory. Thread-safe.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/text/bpe/bpe_spec.h"

namespace psm::nn {

struct Merge {
  int rank = 0;    // merges of lower rank come first
  int token = -1;  // what the two become; -1: they have no merge
};

class Tokenizer {
 public:
  // Throws psm::Error that begins with `what` for ids outside [0, 2^20), for a byte of UTF-8 without a token (kBytes),
  // for two tokens of the same text, for a merge that is there twice or is not of tokens into a token, for a score that
  // is not finite, for an added token that contradicts another, for an end or unknown token that does not exist, as
  // WordPiece needs one, and for kept tokens that do not rise.
  Tokenizer(BpeSpec spec, const std::string& what);
  Tokenizer(const Tokenizer&) = delete;
  Tokenizer& operator=(const Tokenizer&) = delete;

  int vocab() const {
    return spec_.kept ? KeptTokens::kFirst + static_cast<int>(spec_.kept->ids.size()) : vocab_;
  }
  // The tokens of a text, without start() and end(). Throws psm::Error if the text is not UTF-8 (kBytes, kCharacters), or
  // if a character has no token, which it names.
  std::vector<int> encode(std::string_view text) const;
  // The text of tokens that begin a text. If they are of characters, without the space that encode() puts in front.
  std::string decode(std::span<const int> tokens) const;
  // The bytes of one token inside a text. They may be a part of a character; empty for an id that is no token.
  std::string bytes(int token) const;
  // The token before every text in the model's training, and the one that ends a text.
  std::optional<int> start() const { return spec_.kept ? KeptTokens::kStart : spec_.ends.start; }
  std::optional<int> end() const { return spec_.kept ? KeptTokens::kEnd : spec_.ends.end; }
  bool encloses_texts() const { return start() && end(); }
  // How many end() stand between two texts that an encoder reads together.
  int ends_between() const { return spec_.kind == BpeKind::kWordPiece && !spec_.kept ? 1 : 2; }

  // Visits the words of step 2, in order. No merge crosses a word's end. Throws psm::Error if the text is not UTF-8.
  using VisitWord = std::function<void(std::string_view word)>;
  void for_each_word(std::string_view text, const VisitWord& visit) const;

  const BpeSpec& spec() const { return spec_; }

 private:
  // The words that one call has merged already.
  struct Words;

  void read_tokens(const std::string& what);
  void read_merges(const std::string& what);
  void read_scores(const std::string& what);
  void read_kept(const std::string& what);
  const char* space() const { return spec_.kind == BpeKind::kCharacters ? kMetaspace : " "; }
  bool is_utf8() const { return spec_.kind != BpeKind::kAlphabet && spec_.kind != BpeKind::kLlama2; }
  bool of_characters() const { return spec_.kind == BpeKind::kCharacters || spec_.kind == BpeKind::kLlama2; }
  // The byte that a token stands for, or -1.
  int byte_of(int token) const;
  int find(std::string_view text) const;  // -1: no token that merges
  Merge merge(int left, int right) const;
  // Steps 1 and 2: added(id) and word(text), in order.
  template <typename Added, typename Word>
  void cut(std::string_view text, const Added& added, const Word& word) const;
  // WordPiece, for words that are not empty.
  void append_pieces(std::string_view word, std::vector<int>& tokens) const;
  // Step 3.
  void append_characters(std::string_view word, std::vector<int>& tokens) const;
  void encode_word(std::string_view word, Words& words, std::vector<int>& tokens) const;

  BpeSpec spec_;
  AddedTokens added_;
  int vocab_ = 0;                                  // of the whole vocabulary
  std::array<int, 256> byte_token_{};              // -1: none
  std::unordered_map<std::string_view, int> ids_;  // of the texts of tokens that merge
  std::unordered_map<uint64_t, Merge> merges_;     // by the two tokens
  std::vector<int> ranks_;                         // by token: how many scores are higher
  std::vector<int> kept_id_;                       // by token, if only some are kept
};

}  // namespace psm::nn
