// Where training examples come from: batches of equally long sequences of tokens, with the targets that are
// scored. A source is immutable; all randomness comes from the caller's generator, so that one number is the
// whole state of a training's data.
#pragma once

#include <string>
#include <vector>

#include "ckks/base/training_random.h"

namespace psm {

struct Batch {
  int sequences = 0, length = 0;
  std::vector<int> tokens;   // [sequences * length]
  std::vector<int> targets;  // the token to predict at each position, or -1: not scored
  std::size_t scored() const;
};

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual int vocab() const = 0;
  virtual int context() const = 0;
  // Which data these are: two sources of the same description give the same examples.
  virtual std::string description() const = 0;
  // Fills `batch` with fresh training examples; its vectors keep their capacity.
  virtual void draw(int sequences, TrainingRandom& random, Batch& batch) const = 0;
  // Examples never used for training, the same at each call with the same arguments.
  virtual Batch validation(int sequences) const = 0;
};

}  // namespace psm
