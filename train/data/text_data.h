// Real text as a language-modelling task: every position of a window predicts the next token.
//
// Tokens are those of a tokenizer, or of the text's alphabet (nn/text/bpe/bpe_trainer.h); then every position
// predicts the next byte. The last tenth of the text, or a second text, is held out: training windows never
// reach into it. Windows begin anywhere in a text, without a start token.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/bpe_trainer.h"
#include "nn/text/bpe/tokenizer.h"
#include "train/data/data.h"

namespace psm::train {

inline constexpr int kTextContext = 64;  // unless asked otherwise

class TextData final : public DataSource {
 public:
  // `valid`: the second text. Throws psm::Error if a text is too short for a window, or if the tokenizer cannot
  // encode it.
  TextData(std::string_view text, std::optional<std::string_view> valid, int context,
           std::shared_ptr<const nn::Tokenizer> tokenizer = nullptr);
  TextData(std::string_view text, int context, std::shared_ptr<const nn::Tokenizer> tokenizer = nullptr)
      : TextData(text, std::nullopt, context, std::move(tokenizer)) {}

  int vocab() const override { return tokenizer_->vocab(); }
  int context() const override { return context_; }
  std::string description() const override { return description_; }
  // Draws windows at uniformly random places of the training part.
  Batch draw(int sequences, TrainingRandom& random) const override;
  // Windows spread evenly over the held-out part, at most as many as fit without overlap.
  Batch validation(int sequences) const override;

  const std::shared_ptr<const nn::Tokenizer>& tokenizer() const { return tokenizer_; }
  size_t training_tokens() const { return split_; }
  size_t held_out_tokens() const { return tokens_.size() - split_; }

 private:
  void copy(size_t begin, int sequence, Batch& batch) const;

  int context_;
  std::shared_ptr<const nn::Tokenizer> tokenizer_;
  std::vector<int> tokens_;  // of training, then those held out
  size_t split_ = 0;
  std::string description_;
};

// Text of several documents, for scoring language models.
//
// A line <|endoftext|> ends a document; a text without one is a single document. A document is encoded by
// itself, after the tokenizer's start token if there is one. Every token except the first is predicted from
// those before it. A document longer than the context is cut into windows that do not see one another; every
// token is still predicted exactly once.

// The documents without white space at their beginning. Empty ones are left out.
std::vector<std::string_view> split_documents(std::string_view text);

// Throws psm::Error if the tokenizer cannot encode a document.
std::vector<std::vector<int>> encode_documents(std::string_view text, const nn::Tokenizer& tokenizer);

// The windows: up to `context` tokens to read, and one more. Views of the documents. Throws psm::Error if nothing is to
// be predicted.
std::vector<std::span<const int>> document_windows(std::span<const std::vector<int>> documents, int context);

}  // namespace psm::train
