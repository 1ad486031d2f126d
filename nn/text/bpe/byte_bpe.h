// Byte-level byte-pair encoding as GPT-2, RoBERTa, GPT-NeoX, Llama 3, Qwen and SmolLM use it (Sennrich et
// al., arXiv 1508.07909; the bytes are GPT-2's idea).
//
// A text is encoded in this order, as the `tokenizers` library does it:
//   1. added tokens are cut out, and the rest is normalised: NFC, or not at all (nn/text/bpe/added_tokens.h);
//   2. what is left is cut into words (nn/text/bpe/byte_level.h);
//   3. a word's bytes are tokens, of which the two neighbours whose merge has the lowest rank are merged, the
//      leftmost of equals, until no two have a merge.
//
// So decode(encode(text)) is the normalised text, but for white space that an added token takes with it and
// for a space in front. No token is added at the ends: start() and end() say which ones a model expects
// there.
#pragma once

#include <array>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/byte_bpe_spec.h"
#include "nn/text/bpe/merge_table.h"
#include "nn/text/tokenizer.h"

namespace psm::nn {

class ByteBpe final : public Tokenizer {
 public:
  // Throws psm::Error that begins with `what`: ids outside [0, 2^20), a byte of UTF-8 without a token, two
  // tokens of the same bytes, a merge of or into something that is no token or that stands twice, an added
  // token that contradicts another.
  ByteBpe(ByteBpeSpec spec, const std::string& what);
  ByteBpe(const ByteBpe&) = delete;
  ByteBpe& operator=(const ByteBpe&) = delete;

  int vocab() const override { return vocab_; }
  // Throws psm::Error if the text is not UTF-8.
  std::vector<int> encode(std::string_view text) const override;
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;  // empty for an id that is no token
  std::optional<int> start() const override { return spec_.ends.start; }
  std::optional<int> end() const override { return spec_.ends.end; }

  // The words of step 2, in order: no merge reaches beyond one. Throws psm::Error if the text is not UTF-8.
  using VisitWord = std::function<void(std::string_view word)>;
  void for_each_word(std::string_view text, const VisitWord& visit) const;

  const ByteBpeSpec& spec() const { return spec_; }

 private:
  // One call's words that were merged before.
  struct Words;

  void check_tokens(const std::string& what);
  void check_added(const std::string& what);
  // Steps 1 and 2: added(id) and word(text), in order.
  template <typename Added, typename Word>
  void cut(std::string_view text, const Added& added, const Word& word) const;
  void encode_word(std::string_view word, Words& words, std::vector<int>& tokens) const;

  ByteBpeSpec spec_;
  AddedTokens added_;
  int vocab_ = 0;
  std::array<int, 256> byte_token_{};
  MergeTable merges_;
};

}  // namespace psm::nn
