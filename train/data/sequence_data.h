// Sequences of tokens as a language-modelling task: every token but a sequence's first is predicted. All have
// the same length; the last tenth of them is held out. A model's own samples, for instance
// (attention/trained/generate.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/data/data.h"

namespace psm::train {

class SequenceData final : public DataSource {
 public:
  // Tokens are in [0, vocab). `origin` begins the description. Throws psm::Error unless there are two
  // sequences or more, all of the same length of two tokens or more.
  SequenceData(const std::vector<std::vector<int>>& sequences, int vocab, const std::string& origin);

  int vocab() const override { return vocab_; }
  int context() const override { return length_ - 1; }
  std::string description() const override { return description_; }
  // Training sequences, drawn uniformly.
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  // The first of the held-out ones; fewer if there are fewer.
  Batch validation(int sequences) const override;

 private:
  // Makes room for so many sequences.
  void start(int sequences, Batch& batch) const;
  void copy(size_t from, int to, Batch& batch) const;

  int vocab_, length_ = 0;
  size_t training_ = 0, total_ = 0;
  std::vector<int> tokens_;  // [total][length]
  std::string description_;
};

}  // namespace psm::train
