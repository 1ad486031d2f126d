// The tokenizer of a language model: its checkpoint keeps it in the note "tokenizer", as
// Tokenizer::to_string() writes it. Character models trained before there were tokenizers have the digits of
// their alphabet in the note "alphabet".
#pragma once

#include <memory>
#include <string>

#include "attention/files/checkpoint.h"
#include "nn/text/tokenizer.h"
#include "train/data/data.h"

namespace psm::cmd {

// The tokenizer file of a command's --tokenizer, and of --merges unless that is empty.
std::shared_ptr<const nn::Tokenizer> load_user_tokenizer(const std::string& tokenizer,
                                                         const std::string& merges);

// Keeps it; throws Error if it has more tokens than the model.
void keep_tokenizer(const nn::Tokenizer& tokenizer, attention::Checkpoint& checkpoint);

// The one that the checkpoint keeps; null if it keeps none. Throws Error on one that is damaged or of another
// model.
std::shared_ptr<const nn::Tokenizer> tokenizer_of(const attention::Checkpoint& checkpoint);

// The documents of a text file, as train/data/documents.h scores them in the model's context.
train::Batch read_documents(const std::string& path, const nn::Tokenizer& tokenizer,
                            const attention::ModelConfig& config);

}  // namespace psm::cmd
