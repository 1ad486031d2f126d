// Tokenizes texts for an encoder that classifies them (nn/text/sentences.h), with a part of another
// tokenizer's vocabulary: <s> = 0, </s> = 1, <unk> = 2, then the kept tokens in their order. All others are
// <unk>. A text is encoded with one space in front, so that a word has the same tokens wherever it is.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/text/tokenizer.h"

namespace psm::nn {

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

}  // namespace psm::nn
