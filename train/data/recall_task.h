// In-context recall, the task of the demonstration: which value belongs to which key is drawn anew for every
// sequence, so that nothing but attention to the prompt can answer.
//
//     k_1 v_1 k_2 v_2 ... k_P v_P   q_1 a_1 q_2 a_2 ... q_Q a_Q
//
// The k are P different keys, the v values (independent, uniform), each q one of the k and a its partner. The
// loss and the score count at every q, where the next token is the answer. Tokens: keys 0 .. keys - 1, values
// keys .. keys + values - 1. Guessing one of the values of the prompt is right about once in P; a uniform
// guess once in `values`.
#pragma once

#include "train/data/data.h"

namespace psm::train {

struct RecallOptions {
  int keys = 16;    // key symbols, at least `pairs`
  int values = 32;  // value symbols
  int pairs = 8;    // P
  int length = 64;  // 2 P + 2 Q
};

class RecallTask final : public DataSource {
 public:
  // Throws psm::Error on options that make no task.
  explicit RecallTask(const RecallOptions& options);

  int vocab() const override { return options_.keys + options_.values; }
  int context() const override { return options_.length; }
  std::string description() const override;
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  Batch validation(int sequences) const override;
  // Unseen sequences of another stream than training and validation; `stream` >= 1 tells test sets apart.
  Batch test(int sequences, uint64_t stream) const;

  int queries_per_sequence() const { return options_.length / 2 - options_.pairs; }
  double chance() const { return 1.0 / options_.values; }
  const RecallOptions& options() const { return options_; }

 private:
  RecallOptions options_;
};

}  // namespace psm::train
