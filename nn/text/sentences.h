// The tokens that an encoder reads for a text, or for two texts with a tab between them (a question and a sentence):
//
//     <s> text </s>                     <s> first </s> </s> second </s>         as RoBERTa was trained
//     [CLS] text [SEP]                  [CLS] first [SEP] second [SEP]          as BERT was
//
// They are the tokenizer's start() and end(), and ends_between() says how many stand in the middle.
#pragma once

#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/tokenizer.h"

namespace psm::nn {

// Tokenizes such texts with a part of another tokenizer's vocabulary: <s> = 0, </s> = 1, <unk> = 2, then the
// kept tokens in their order. All others are <unk>. A text is encoded with one space in front, so that a word
// has the same tokens wherever it is.
class SentenceTokenizer final : public Tokenizer {
 public:
  static constexpr int kStart = 0, kEnd = 1, kUnknown = 2, kFirstKept = 3;

  // `kept`: tokens of `base`, in rising order. Throws psm::Error that begins with `what` if they are not.
  SentenceTokenizer(std::shared_ptr<const Tokenizer> base, std::vector<int> kept, const std::string& what);

  int vocab() const override { return kFirstKept + static_cast<int>(kept_.size()); }
  std::vector<int> encode(std::string_view text) const override;
  std::string decode(std::span<const int> tokens) const override;
  std::string bytes(int token) const override;
  std::optional<int> start() const override { return kStart; }
  std::optional<int> end() const override { return kEnd; }

  const Tokenizer& base() const { return *base_; }
  const std::vector<int>& kept() const { return kept_; }

 private:
  std::shared_ptr<const Tokenizer> base_;
  std::vector<int> kept_, id_of_;
};

// Whether the tokenizer has tokens to enclose a text.
bool encloses_texts(const Tokenizer& tokenizer);

// Returns at most `longest` tokens. The excess is cut from the end of the longer text, or of the second if
// both are equally long. Throws psm::Error if the tokenizer cannot enclose or encode a text, if there are
// more than two texts, and if `longest` has no room for the enclosing tokens.
std::vector<int> sentence_tokens(const Tokenizer& tokenizer, std::string_view text,
                                 size_t longest = std::numeric_limits<size_t>::max());

}  // namespace psm::nn
