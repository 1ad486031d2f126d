// The loop around a Trainer: progress bar, early stopping on held-out examples, saving and resuming.
//
// A running training is saved to one file (safetensors: weights, both moments, and in the metadata the step,
// the generator's state and a description of the training). Killed and resumed, it ends with the same bits as
// one that was never stopped, because early stopping is decided at fixed steps, by the weights alone. An
// interruption (ckks/base/interruption.h) takes effect after the current step, whose state is saved.
#pragma once

#include <functional>
#include <string>

#include "nn/files/safetensors.h"
#include "train/evaluation/evaluation.h"
#include "train/stages/trainer.h"

namespace psm::train {

// The file of a running training. Reading throws psm::Error if it is damaged or of another training.
void save_training(const std::string& path, const std::string& description, TrainerState state);
TrainerState training_from(nn::Safetensors file, const std::string& description, const std::string& path);

struct LoopOptions {
  std::string name = "training";  // for the progress bar and the state file's description
  size_t steps = 1000;            // at most
  size_t evaluate_every = 25;
  int validation_sequences = 128;
  double stop_accuracy = 1.1;   // stop once held-out accuracy reaches this; above 1: never
  std::string state_file = {};  // empty: nothing is saved; an existing file of the same training is resumed
  size_t save_every = 100;
  // Called before the first step, with the step of the resumed state, 0 if there was none. May be empty.
  std::function<void(const std::string& name, size_t steps, size_t resumed_at)> started = {};
  // Called with every evaluation on held-out examples. May be empty. A resumed training repeats some calls.
  std::function<void(size_t step, const Evaluation&)> evaluated = {};
};

struct StageReport {
  std::string name;
  Evaluation validation;         // at the last step
  size_t steps = 0;              // none: a model that was only evaluated
  uint64_t tokens = 0;           // read in all steps, without padding
  double seconds = 0;            // of this process, evaluations included
  double tokens_per_second = 0;  // in training steps alone, of this process
};

struct LoopResult : StageReport {
  attention::ModelWeights weights;
  size_t resumed_at = 0;  // the step at which a saved state was taken up, 0 if none was
};

// Everything that decides a training's result, on one line. A state file with another description is refused.
std::string describe_training(const attention::ModelWeights& initial, const DataSource& source,
                              const TrainerOptions& training, const LoopOptions& loop);

// Trains `initial` on the source. Throws Diverged (with step and loss), or psm::Error if a state cannot be
// saved; both name the last saved state. Throws psm::Error if the state file is damaged or of another
// training. Throws Interrupted after the state is saved.
LoopResult run_training(const attention::ModelWeights& initial, const DataSource& source,
                        const TrainerOptions& training, const LoopOptions& loop);

}  // namespace psm::train
