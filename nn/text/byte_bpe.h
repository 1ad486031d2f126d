// Byte-level byte-pair encoding as GPT-2, RoBERTa and GPT-NeoX use it (Sennrich et al., arXiv 1508.07909; the
// bytes are GPT-2's idea).
//
// A text is encoded in this order, as the `tokenizers` library does it:
//   1. added tokens that are not normalised are cut out;
//   2. what stands between them is normalised (NFC, or not at all), and the other added tokens are cut out;
//   3. what is left is cut into words (nn/text/byte_level.h);
//   4. a word's bytes are tokens, of which the two neighbours whose merge has the lowest rank are merged, the
//      leftmost of equals, until no two have a merge.
//
// So decode(encode(text)) is the normalised text, but for white space that an added token takes with it and
// for a space in front. No token is added at the ends: start() and end() say which ones a model expects
// there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/text/byte_bpe_spec.h"
#include "nn/text/pair_merger.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {

class ByteBpe final : public Tokenizer {
 public:
  // Throws psm::Error that begins with `what`: ids outside [0, 2^20), a byte of UTF-8 without a token, two
  // tokens of the same bytes, a merge of or into something that is no token or that stands twice, an added
  // token that contradicts another.
  ByteBpe(ByteBpeSpec spec, const std::string& what);

  int vocab() const override { return vocab_; }
  // Throws psm::Error if the text is not UTF-8.
  std::vector<int> encode(std::string_view text) const override;
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;  // empty for an id that is no token
  std::optional<int> start() const override { return spec_.start; }
  std::optional<int> end() const override { return spec_.end; }
  std::string to_string() const override;  // "bpe" and its tokenizer.json

  // The words of step 3, in order: no merge reaches beyond one. Throws psm::Error if the text is not UTF-8.
  using VisitWord = std::function<void(std::string_view word)>;
  void for_each_word(std::string_view text, const VisitWord& visit) const;

  const ByteBpeSpec& spec() const { return spec_; }

 private:
  // Added tokens by their first byte, the longest first.
  using AddedIndex = std::array<std::vector<size_t>, 256>;  // places in spec_.added
  // One call's words that were merged before.
  struct Words;

  void check_tokens(const std::string& what);
  void check_merges(const std::string& what);
  void check_added(const std::string& what);
  // Calls added(id) for the added tokens of one index and other(piece) for what stands between them, in
  // order.
  template <typename Added, typename Other>
  void split(std::string_view text, const AddedIndex& index, const Added& added, const Other& other) const;
  // Steps 1 to 3: added(id) and word(text), in order.
  template <typename Added, typename Word>
  void cut(std::string_view text, const Added& added, const Word& word) const;
  void encode_word(std::string_view word, Words& words, std::vector<int>& tokens) const;

  ByteBpeSpec spec_;
  int vocab_ = 0;
  std::array<int, 256> byte_token_{};
  std::unordered_map<uint64_t, Merge> merges_;  // by the two tokens
  std::unordered_map<int, size_t> added_at_;    // places of added tokens, by id
  AddedIndex raw_, normalised_;
};

}  // namespace psm::nn
