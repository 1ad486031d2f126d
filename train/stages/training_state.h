// The file of a running training. `description` identifies the training (model, data, options). A file with
// another description is refused, not continued with other settings.
#pragma once

#include <optional>
#include <string>

#include "nn/files/safetensors.h"
#include "train/stages/trainer.h"

namespace psm::train {

struct SavedTraining {
  TrainerState state;
  bool finished = false;  // its loop ended: resuming returns its weights
};

void save_training(const std::string& path, const std::string& description, const SavedTraining& saved);
// Returns nullopt if there is no file at `path`. Throws psm::Error if the file is damaged or of another
// training.
std::optional<SavedTraining> load_training(const std::string& path, const std::string& description);
// The same from the file's content.
SavedTraining training_from(nn::Safetensors file, const std::string& description, const std::string& path);

}  // namespace psm::train
