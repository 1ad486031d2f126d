// Bits a byte: the cross entropy of a language model in a unit that does not depend on its tokens.
//
//     bits a byte = (nats a token / ln 2) (scored tokens) / (bytes that these tokens stand for)
//
// It compares models with different tokenizers on the same text. Perplexities do not, because they count for
// one token.
#pragma once

#include "nn/text/tokenizer.h"
#include "train/data/data.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {

// The mean number of bytes that the batch's scored targets stand for; 0 if nothing is scored.
double bytes_per_target(const Batch& batch, const nn::Tokenizer& tokenizer);

// Returns 0 if targets have no bytes.
double bits_per_byte(const Evaluation& evaluation, double bytes_per_target);

}  // namespace psm::train
