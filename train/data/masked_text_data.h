// Masked language modelling (Devlin et al., arXiv 1810.04805) as a task for an encoder (BERT, RoBERTa): some tokens of
// a window are hidden, and each is predicted from both sides.
//
// A window of a text is read as two texts, its halves, enclosed as in nn/text/sentences.h. So a model learns both token
// types. Each token of the text is scored with probability 0.15. In the input a scored token becomes [MASK] or <mask>
// with probability 0.8, any token with 0.1, and stays as it is with 0.1.
#pragma once

#include <string>

#include "train/data/text_data.h"

namespace psm::train {

class MaskedTextData final : public DataSource {
 public:
  // Reads the windows of `text`. Throws psm::Error if its tokenizer does not enclose texts or has no mask.
  explicit MaskedTextData(TextData text);
  // How many tokens enclose a window.
  static int around(const nn::Tokenizer& tokenizer) { return 2 + tokenizer.ends_between(); }

  int vocab() const override { return text_.vocab(); }
  int context() const override { return text_.context() + around(*text_.tokenizer()); }
  std::string description() const override { return "masked " + text_.description(); }
  Batch draw(int sequences, TrainingRandom& random) const override;
  // The same tokens are hidden at each call.
  Batch validation(int sequences) const override;

  const std::shared_ptr<const nn::Tokenizer>& tokenizer() const { return text_.tokenizer(); }

 private:
  Batch mask(const Batch& windows, TrainingRandom& random) const;

  TextData text_;
  int mask_;
};

}  // namespace psm::train
