// The recall task (nn/inputs/recall.h) as data to train on.
#pragma once

#include <cstdint>
#include <string>

#include "ckks/base/error.h"
#include "nn/inputs/recall.h"
#include "train/data/data.h"

namespace psm::train {

using nn::RecallOptions;

class RecallTask final : public DataSource {
 public:
  // Throws psm::Error if the options do not describe a task.
  explicit RecallTask(const RecallOptions& options) : options_(options) { options.validate(); }

  int vocab() const override { return options_.keys + options_.values; }
  int context() const override { return options_.length; }
  std::string description() const override {
    return message("recall of ", options_.pairs, " pairs from ", options_.keys, " keys and ", options_.values,
                   " values in ", options_.length, " tokens");
  }
  Batch draw(int sequences, TrainingRandom& random) const override {
    Batch batch;
    batch.start_texts(sequences, options_.length);
    for (int s = 0; s < sequences; ++s) {
      const size_t begin = static_cast<size_t>(s) * options_.length;
      nn::draw_recall(options_, random, batch.tokens.data() + begin, batch.targets.data() + begin);
    }
    return batch;
  }
  Batch validation(int sequences) const override { return test(sequences, 0); }
  // Unseen sequences from another stream than training and validation. `stream` >= 1 selects a test set.
  Batch test(int sequences, uint64_t stream) const {
    TrainingRandom random = nn::held_out_recall(stream);
    return draw(sequences, random);
  }

  int queries_per_sequence() const { return options_.length / 2 - options_.pairs; }
  double chance() const { return 1.0 / options_.values; }

 private:
  RecallOptions options_;
};

}  // namespace psm::train
