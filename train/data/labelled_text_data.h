// Classified texts as a task for an encoder (RoBERTa), in tokens of a tokenizer.
//
// Texts, or pairs with a tab between them, are encoded and cut to the context as in nn/text/sentences.h. A
// tokenizer that can enclose texts (RoBERTa's, or a model's own) stays as it is. From another one, tokens are
// kept that occur in at least `least_texts` training texts (nn/text/bpe/bpe_spec.h), because a model
// that begins with random weights learns nothing about the others. A batch is as long as its longest text;
// shorter ones are filled up with </s>.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nn/text/bpe/tokenizer.h"
#include "train/data/data.h"
#include "train/data/labelled_text.h"

namespace psm::train {

class LabelledTextData final : public DataSource {
 public:
  // `context`: tokens, <s> and </s> among them. Throws psm::Error if a text cannot be encoded, if a label is negative,
  // and unless there are two classes, training texts and held-out texts. The description begins with `origin`.
  // `least_texts`: how many training texts must have a token for the vocabulary to keep it, where `tokenizer` encloses
  // no texts.
  LabelledTextData(const std::vector<LabelledText>& training, const std::vector<LabelledText>& held_out,
                   std::shared_ptr<const nn::Tokenizer> tokenizer, int context, const std::string& origin,
                   int least_texts = 3);

  int vocab() const override { return tokenizer_->vocab(); }
  int context() const override { return context_; }
  int classes() const override { return classes_; }
  std::string description() const override { return description_; }
  // Draws uniformly.
  Batch draw(int sequences, TrainingRandom& random) const override;
  // The first of the held-out texts; fewer if there are fewer.
  Batch validation(int sequences) const override;

  const std::shared_ptr<const nn::Tokenizer>& tokenizer() const { return tokenizer_; }

 private:
  struct Text {
    std::vector<int> tokens;
    int label;
  };

  Batch batch_of(const std::vector<const Text*>& texts) const;

  int context_, classes_ = 0;
  std::shared_ptr<const nn::Tokenizer> tokenizer_;
  std::vector<Text> training_, held_out_;
  std::string description_;
};

}  // namespace psm::train
