// What an encoder reads of a text, or of two with a tab between them (a question and a sentence):
//
//     <s> text </s>                     <s> first </s> </s> second </s>
//
// <s> and </s> are the tokenizer's start() and end(); this is how RoBERTa was trained.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "nn/text/tokenizer.h"

namespace psm::nn {

// Does the tokenizer say what stands before and behind a text?
bool encloses_texts(const Tokenizer& tokenizer);

// At most `longest` tokens: what is more is cut from the end of the longer text, of the second where both are
// as long. Throws psm::Error if the tokenizer does not say what stands around a text or cannot encode one, if
// there are more than two, and if `longest` is less than what stands around them.
std::vector<int> sentence_tokens(const Tokenizer& tokenizer, std::string_view text,
                                 size_t longest = std::numeric_limits<size_t>::max());

}  // namespace psm::nn
