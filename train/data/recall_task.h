// The recall task (nn/inputs/recall.h) as data to train on.
#pragma once

#include "nn/inputs/recall.h"
#include "train/data/data.h"

namespace psm::train {

using nn::RecallOptions;

class RecallTask final : public DataSource {
 public:
  // Throws psm::Error if the options do not describe a task.
  explicit RecallTask(const RecallOptions& options);

  int vocab() const override { return options_.keys + options_.values; }
  int context() const override { return options_.length; }
  std::string description() const override;
  void draw(int sequences, TrainingRandom& random, Batch& batch) const override;
  Batch validation(int sequences) const override;
  // Unseen sequences from another stream than training and validation. `stream` >= 1 selects a test set.
  Batch test(int sequences, uint64_t stream) const;

  int queries_per_sequence() const { return options_.length / 2 - options_.pairs; }
  double chance() const { return 1.0 / options_.values; }
  const RecallOptions& options() const { return options_; }

 private:
  RecallOptions options_;
};

}  // namespace psm::train
