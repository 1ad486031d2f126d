// What a checkpoint says of its model's prompts, in notes:
//
//     "tokenizer"   of a text model, as nn::to_string() writes it
//     "recall"      the task's sizes, JSON
//     "images"      their size, patch and channels, JSON
#pragma once

#include <map>
#include <memory>
#include <string>

#include "attention/shape/config.h"
#include "cmd/prompts/prompts.h"
#include "nn/text/tokenizer.h"

namespace psm::cmd {

using Notes = std::map<std::string, std::string>;

// Keeps it; throws Error if it has more tokens than the model.
void keep_tokenizer(const nn::Tokenizer& tokenizer, Notes& notes, int vocab);

// The one that the notes keep; null if they keep none. Throws Error on one that is damaged or of another
// model.
std::shared_ptr<const nn::Tokenizer> tokenizer_of(const Notes& notes, int vocab);

// Throws Error if the notes of the model's checkpoint say nothing of its tokens, or what does not fit the model.
PromptCodec codec_of(const attention::ModelConfig& config, const Notes& notes);
// What makes the notes of a model with so many tokens readable for the function above.
void write_notes(const PromptCodec& codec, Notes& notes, int vocab);

}  // namespace psm::cmd
