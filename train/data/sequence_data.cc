#include "train/data/sequence_data.h"

#include <algorithm>

#include "ckks/base/error.h"
#include "ckks/base/files/checksum.h"

namespace psm::train {

SequenceData::SequenceData(const std::vector<std::vector<int>>& sequences, int vocab,
                           const std::string& origin)
    : vocab_(vocab), total_(sequences.size()) {
  if (total_ < 2 || sequences[0].size() < 2)
    throw Error(message(origin, ": ", total_,
                        " sequences are too few or too short to train on; give two of two tokens at least"));
  length_ = static_cast<int>(sequences[0].size());
  for (const std::vector<int>& sequence : sequences) {
    if (sequence.size() != sequences[0].size())
      throw Error(message(origin, ": sequences of ", sequence.size(), " and ", length_,
                          " tokens; give all the same length"));
    for (const int token : sequence)
      if (token < 0 || token >= vocab)
        throw Error(message(origin, ": token ", token, " is not in the vocabulary of ", vocab));
    tokens_.insert(tokens_.end(), sequence.begin(), sequence.end());
  }
  training_ = total_ - std::max<size_t>(1, total_ / 10);
  description_ = message(origin, ", ", total_, " sequences of ", length_, " tokens, checksum ",
                         checksum64(tokens_.data(), tokens_.size() * sizeof(int)));
}

void SequenceData::start(int sequences, Batch& batch) const {
  batch.sequences = sequences;
  batch.length = context();
  batch.tokens.resize(static_cast<size_t>(sequences) * static_cast<size_t>(context()));
  batch.targets.resize(batch.tokens.size());
}

void SequenceData::copy(size_t from, int to, Batch& batch) const {
  const auto source = tokens_.begin() + static_cast<std::ptrdiff_t>(from) * length_;
  const std::ptrdiff_t target = static_cast<std::ptrdiff_t>(to) * context();
  std::copy_n(source, context(), batch.tokens.begin() + target);
  std::copy_n(source + 1, context(), batch.targets.begin() + target);
}

void SequenceData::draw(int sequences, TrainingRandom& random, Batch& batch) const {
  start(sequences, batch);
  for (int s = 0; s < sequences; ++s) copy(random.integer(training_), s, batch);
}

Batch SequenceData::validation(int sequences) const {
  Batch batch;
  start(static_cast<int>(std::min<size_t>(total_ - training_, static_cast<size_t>(sequences))), batch);
  for (int s = 0; s < batch.sequences; ++s) copy(training_ + static_cast<size_t>(s), s, batch);
  return batch;
}

}  // namespace psm::train
