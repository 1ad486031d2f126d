// One training: steps of AdamW on batches of a data source, with those losses of range_losses.h whose weights
// are not zero.
//
// The batch is divided into kParts parts, each with its own tape. Threads take parts, and the parts'
// gradients are added in order. So the same seed gives the same bits for every number of threads, and threads
// wait for one another only a few times in a step.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attention/trained/model.h"
#include "ckks/base/error.h"
#include "nn/autograd/adamw.h"
#include "train/data/data.h"
#include "train/stages/range_losses.h"

namespace psm::train {

struct TrainerOptions {
  int batch = 64;  // sequences a step
  nn::LearningRate rate = {};
  nn::AdamWOptions adamw = {};
  RangeLosses ranges = {};
  nn::Precision precision = nn::Precision::kFp32;  // of matrix products; weights and all else are fp32
  bool fixed_score_offset = false;                 // score offsets stay as they are
  uint64_t seed = 1;                               // of the data
};

// The state that a resumed training needs besides its options. It is saved with a running training.
struct TrainerState {
  std::vector<float> values;
  nn::AdamWState optimiser;
  uint64_t random = 0;
  uint64_t tokens = 0;  // read in all steps, without padding
};

struct StepReport {
  size_t step = 0;  // of this training, from 1
  double cross_entropy = 0;
  double range_loss = 0;
};

// Thrown if a training's loss or gradient is no longer finite.
class Diverged : public Error {
 public:
  explicit Diverged(const std::string& message) : Error(message, Kind::kFailed) {}
};

class Trainer {
 public:
  static constexpr int kParts = 4;

  // The source must outlive the trainer. Throws psm::Error if the model cannot read the source's tokens.
  Trainer(const attention::ModelWeights& initial, const DataSource& source, const TrainerOptions& options);
  ~Trainer();

  // Makes a step. Throws Diverged, which names the step, the loss and the gradient's norm, if one of the two is not
  // finite; the weights are then those before the step.
  StepReport step();

  attention::ModelWeights weights() const;
  size_t steps() const { return adamw_.state().steps; }
  uint64_t tokens() const { return tokens_; }  // read in all of them, without padding
  TrainerState state() const;
  // Throws psm::Error if the state is of another model.
  void set_state(TrainerState state);
  // Chunks of memory of all tapes; constant after the first step, if all batches have the same length and as many scored
  // tokens.
  size_t memory_growths() const;

 private:
  struct Part;

  void forward(Part& part, double cross_entropy_scale);

  attention::ModelConfig config_;
  const DataSource& source_;
  TrainerOptions options_;
  nn::FlatArray values_, grads_;
  std::vector<attention::ParameterSlice> fixed_;  // parameters that are not trained
  nn::AdamW adamw_;
  TrainingRandom random_;
  uint64_t tokens_ = 0;
  Batch batch_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace psm::train
