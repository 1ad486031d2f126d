// The tokens that an encoder reads for a text, or for two texts with a tab between them (a question and a sentence):
//
//     <s> text </s>                     <s> first </s> </s> second </s>         as RoBERTa was trained
//     [CLS] text [SEP]                  [CLS] first [SEP] second [SEP]          as BERT was
//
// They are the tokenizer's start() and end(), and ends_between() says how many stand in the middle.
#pragma once

#include <limits>
#include <string_view>
#include <vector>

#include "nn/text/bpe/tokenizer.h"

namespace psm::nn {

// Returns at most `longest` tokens. The excess is cut from the end of the longer text, or of the second if
// both are equally long. Throws psm::Error if the tokenizer cannot enclose or encode a text, if there are
// more than two texts, and if `longest` has no room for the enclosing tokens.
std::vector<int> sentence_tokens(const Tokenizer& tokenizer, std::string_view text,
                                 size_t longest = std::numeric_limits<size_t>::max());

}  // namespace psm::nn
