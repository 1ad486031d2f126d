// Commands' use of a checkpoint's tokenizer (cmd/prompts/model_notes.h).
#pragma once

#include <memory>
#include <string>

#include "attention/files/checkpoint.h"
#include "cmd/prompts/model_notes.h"
#include "nn/text/tokenizer.h"
#include "train/data/data.h"

namespace psm::cmd {

// Loads the tokenizer of a command's --tokenizer, with --merges unless that is empty.
std::shared_ptr<const nn::Tokenizer> load_user_tokenizer(const std::string& tokenizer,
                                                         const std::string& merges);

inline std::shared_ptr<const nn::Tokenizer> tokenizer_of(const attention::Checkpoint& checkpoint) {
  return tokenizer_of(checkpoint.weights.config, checkpoint.notes);
}

// The documents of a text file for scoring in the model's context (train/data/documents.h).
train::Batch read_documents(const std::string& path, const nn::Tokenizer& tokenizer,
                            const attention::ModelConfig& config);

}  // namespace psm::cmd
