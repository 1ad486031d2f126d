// Bits a byte: the cross entropy of a language model in a unit that does not depend on its tokens.
//
//     bits a byte = (nats a token / ln 2) (scored tokens) / (bytes that these tokens stand for)
//
// Models with other tokenizers compare by it on the same text, where perplexities, which are of one token
// each, do not.
#pragma once

#include "nn/text/tokenizer.h"
#include "train/data/data.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {

// The mean number of bytes that the batch's scored targets stand for; 0 if nothing is scored.
double bytes_per_target(const Batch& batch, const nn::Tokenizer& tokenizer);

// 0 where a target has no bytes.
double bits_per_byte(const Evaluation& evaluation, double bytes_per_target);

}  // namespace psm::train
