// Sources of training examples: batches of sequences of tokens, or of images cut into patches, with their
// targets. A source is immutable. All randomness comes from the caller's generator, so one number is the
// whole state of a training's data.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attention/shape/examples.h"
#include "attention/trained/model.h"
#include "ckks/base/random/training_random.h"

namespace psm::train {

struct Batch {
  int sequences = 0, length = 0;  // length: the longest sequence's, with the class token of an image
  std::vector<int> tokens;        // [sequences * length], shorter sequences filled up with any token
  // The token to predict at each position, [sequences * length], or the class of each sequence, [sequences];
  // -1: not scored.
  std::vector<int> targets;
  std::vector<int> lengths;    // [sequences] real tokens of each, from 1; empty: all of `length`
  std::vector<float> patches;  // [sequences * (length - 1) * patch_inputs], in place of tokens

  // Makes it `count` texts of `each` tokens, all 0, none of them scored.
  void start_texts(int count, int each);
  size_t scored() const;
  size_t real_tokens() const;  // with the class tokens
  // Each sequence without filling, or each image. These are views; the batch must outlive them.
  attention::Examples examples() const;
  // Copies of the sequences of `examples`.
  std::vector<std::vector<int>> texts() const;
  // The sequences first .. first + count as the input of a forward pass, and their targets, one for each row
  // of logits. These are views; the batch must outlive them.
  attention::ModelInput input(int first, int count) const;
  std::span<const int> scored_by(int first, int count) const;
};

class DataSource {
 public:
  virtual ~DataSource() = default;
  virtual int vocab() const = 0;  // 0: patches
  virtual int context() const = 0;
  virtual int classes() const { return 0; }       // 0: targets are tokens
  virtual int patch_inputs() const { return 0; }  // 0: tokens
  // Identifies the data: two sources with the same description give the same examples.
  virtual std::string description() const = 0;
  // Fresh training examples.
  virtual Batch draw(int sequences, TrainingRandom& random) const = 0;
  // Examples never used for training, the same at each call with the same arguments.
  virtual Batch validation(int sequences) const = 0;
};

}  // namespace psm::train
