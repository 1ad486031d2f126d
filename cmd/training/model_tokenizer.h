// What commands do with a checkpoint's tokenizer (cmd/prompts/model_notes.h).
#pragma once

#include <memory>
#include <string>

#include "attention/files/checkpoint.h"
#include "cmd/prompts/model_notes.h"
#include "nn/text/tokenizer.h"
#include "train/data/data.h"

namespace psm::cmd {

// The tokenizer file of a command's --tokenizer, and of --merges unless that is empty.
std::shared_ptr<const nn::Tokenizer> load_user_tokenizer(const std::string& tokenizer,
                                                         const std::string& merges);

inline std::shared_ptr<const nn::Tokenizer> tokenizer_of(const attention::Checkpoint& checkpoint) {
  return tokenizer_of(checkpoint.weights.config, checkpoint.notes);
}

// The documents of a text file, as train/data/documents.h scores them in the model's context.
train::Batch read_documents(const std::string& path, const nn::Tokenizer& tokenizer,
                            const attention::ModelConfig& config);

}  // namespace psm::cmd
