// Text of several documents, for scoring language models.
//
// A line <|endoftext|> ends a document; a text without one is a single document. A document is encoded by
// itself, after the tokenizer's start token if there is one. Every token except the first is predicted from
// those before it. A document longer than the context is cut into windows that do not see one another; every
// token is still predicted exactly once.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "nn/text/bpe/tokenizer.h"

namespace psm::train {

// The documents without white space at their beginning. Empty ones are left out.
std::vector<std::string_view> split_documents(std::string_view text);

// Throws psm::Error if the tokenizer cannot encode a document.
std::vector<std::vector<int>> encode_documents(std::string_view text, const nn::Tokenizer& tokenizer);

// The windows: up to `context` tokens to read, and one more. Views of the documents. Throws psm::Error if nothing is to
// be predicted.
std::vector<std::span<const int>> document_windows(std::span<const std::vector<int>> documents, int context);

}  // namespace psm::train
