// The tokenizer of a language model: its checkpoint keeps it in the note "tokenizer", as Tokenizer::to_string() writes
// it. Older character models have the digits of their alphabet in the note "alphabet".
#pragma once

#include <map>
#include <memory>
#include <string>

#include "nn/text/tokenizer.h"

namespace psm::cmd {

using Notes = std::map<std::string, std::string>;

// Keeps it; throws Error if it has more tokens than the model.
void keep_tokenizer(const nn::Tokenizer& tokenizer, Notes& notes, int vocab);

// The one that the notes keep; null if they keep none. Throws Error on one that is damaged or of another
// model.
std::shared_ptr<const nn::Tokenizer> tokenizer_of(const Notes& notes, int vocab);

}  // namespace psm::cmd
