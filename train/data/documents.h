// Text of several documents, as language models are scored on it.
//
// A line <|endoftext|> ends a document; a text without one is a single document. A document is encoded by
// itself, behind the tokenizer's start token where it has one: every token but its first is predicted from
// those before it. A document longer than the context is cut into windows, each of which sees nothing of the
// one before; every token is still predicted exactly once.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nn/text/tokenizer.h"
#include "train/data/data.h"

namespace psm::train {

// The documents without white space in front of them; those that are nothing else are left out.
std::vector<std::string_view> split_documents(std::string_view text);

// Throws psm::Error if the tokenizer cannot encode a document.
std::vector<std::vector<int>> encode_documents(std::string_view text, const nn::Tokenizer& tokenizer);

// One batch for evaluate(): what fills windows up is no part of them (Batch::lengths). Throws psm::Error if
// nothing is to be predicted.
Batch document_batch(std::span<const std::vector<int>> documents, int context);

}  // namespace psm::train
