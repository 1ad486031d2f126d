// Classified texts as a task for an encoder (RoBERTa), in tokens of a tokenizer's.
//
//     <s> tokens of the text </s>            shorter texts of a batch are filled up with </s>
//
// The vocabulary is what training needs: <s> = 0, </s> = 1, <unk> = 2, then the tokenizer's tokens that occur
// in at least `least_texts` training texts, in the tokenizer's order. A model that begins with random weights
// learns nothing about the others. Texts are encoded with one space in front, so that a word has the same
// tokens wherever it stands, and cut to the context. A batch is as long as its longest text.
#pragma once

#include <string>
#include <vector>

#include "nn/text/tokenizer.h"
#include "train/data/data.h"
#include "train/data/sst2.h"

namespace psm::train {

struct LabelledTextOptions {
  int context = 64;     // tokens, <s> and </s> among them
  int least_texts = 3;  // of a token in the vocabulary
};

class LabelledTextData final : public DataSource {
 public:
  // Throws psm::Error if a text cannot be encoded or a label is negative, or without two classes, training
  // texts and held-out texts. `origin` begins the description.
  LabelledTextData(const std::vector<LabelledText>& training, const std::vector<LabelledText>& held_out,
                   const nn::Tokenizer& tokenizer, const LabelledTextOptions& options,
                   const std::string& origin);

  int vocab() const override { return vocab_; }
  int context() const override { return context_; }
  int classes() const override { return classes_; }
  std::string description() const override { return description_; }
  // Uniformly.
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  // The first of the held-out texts; fewer if there are fewer.
  Batch validation(int sequences) const override;

  size_t training_texts() const { return training_.size(); }
  double mean_tokens() const;  // of a training text, with <s> and </s>

 private:
  struct Text {
    std::vector<int> tokens;
    int label;
  };

  static void start(int sequences, size_t longest, Batch& batch);
  static void write(const Text& text, size_t s, Batch& batch);

  int vocab_ = 0, context_, classes_ = 0;
  std::vector<Text> training_, held_out_;
  std::string description_;
};

}  // namespace psm::train
