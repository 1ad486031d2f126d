#include "train/data/recall_task.h"

#include "ckks/base/error.h"

namespace psm::train {

RecallTask::RecallTask(const RecallOptions& options) : options_(options) { options.validate(); }

std::string RecallTask::description() const {
  return message("recall of ", options_.pairs, " pairs from ", options_.keys, " keys and ", options_.values,
                 " values in ", options_.length, " tokens");
}

void RecallTask::draw(int sequences, TrainingRandom& random, Batch& batch) const {
  batch.sequences = sequences;
  batch.length = options_.length;
  batch.tokens.assign(static_cast<size_t>(sequences) * options_.length, 0);
  batch.targets.assign(batch.tokens.size(), -1);
  for (int s = 0; s < sequences; ++s) {
    const size_t begin = static_cast<size_t>(s) * options_.length;
    nn::draw_recall(options_, random, batch.tokens.data() + begin, batch.targets.data() + begin);
  }
}

Batch RecallTask::validation(int sequences) const { return test(sequences, 0); }

Batch RecallTask::test(int sequences, uint64_t stream) const {
  TrainingRandom random = nn::held_out_recall(stream);
  Batch batch;
  draw(sequences, random, batch);
  return batch;
}

}  // namespace psm::train
