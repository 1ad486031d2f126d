#include "train/data/recall_task.h"

#include <numeric>

#include "ckks/base/error.h"

namespace psm::train {
namespace {
// Streams of held-out sequences: generators that no --seed reaches, since training splits its own from the
// seed.
constexpr uint64_t kHeldOut = 0x7265636c6c746573;
}  // namespace

RecallTask::RecallTask(const RecallOptions& options) : options_(options) {
  if (options.pairs < 1 || options.keys < options.pairs || options.values < 2)
    throw Error(message("recall task with ", options.pairs, " pairs, ", options.keys, " keys and ",
                        options.values, " values: it needs at least as many keys as pairs and two values"));
  if (options.length % 2 != 0 || options.length < 2 * options.pairs + 2)
    throw Error(message("recall task of length ", options.length, ": give an even length of at least ",
                        2 * options.pairs + 2, " so that a query follows the pairs"));
}

std::string RecallTask::description() const {
  return message("recall of ", options_.pairs, " pairs from ", options_.keys, " keys and ", options_.values,
                 " values in ", options_.length, " tokens");
}

void RecallTask::draw(int sequences, TrainingRandom& random, Batch& batch) const {
  const auto& [keys, values, pairs, length] = options_;
  batch.sequences = sequences;
  batch.length = length;
  batch.tokens.assign(static_cast<size_t>(sequences) * length, 0);
  batch.targets.assign(batch.tokens.size(), -1);
  thread_local std::vector<int> order;
  order.resize(keys);
  for (int s = 0; s < sequences; ++s) {
    int* tokens = batch.tokens.data() + static_cast<size_t>(s) * length;
    int* targets = batch.targets.data() + static_cast<size_t>(s) * length;
    std::iota(order.begin(), order.end(), 0);
    for (int i = 0; i < pairs; ++i) {  // the first steps of a Fisher-Yates shuffle: distinct keys
      std::swap(order[i], order[i + random.integer(keys - i)]);
      tokens[2 * i] = order[i];
      tokens[2 * i + 1] = keys + static_cast<int>(random.integer(values));
    }
    for (int i = 2 * pairs; i < length; i += 2) {
      const int asked = static_cast<int>(random.integer(pairs));
      tokens[i] = tokens[2 * asked];
      tokens[i + 1] = targets[i] = tokens[2 * asked + 1];
    }
  }
}

Batch RecallTask::validation(int sequences) const { return test(sequences, 0); }

Batch RecallTask::test(int sequences, uint64_t stream) const {
  TrainingRandom random = TrainingRandom(kHeldOut).split(stream);
  Batch batch;
  draw(sequences, random, batch);
  return batch;
}

}  // namespace psm::train
