// Tokenizers made of a text: its alphabet, and byte-level byte-pair encoding (Gage 1994; Sennrich et al., arXiv
// 1508.07909, algorithm 1), which is trained.
//
// The words of a text are counted. Each is a row of tokens, one for each byte. Until the vocabulary is full,
// the pair of neighbouring tokens (a, b) with the highest count
//
//     count(a, b) = sum over distinct words of (times the word stands) (places in it where b follows a)
//
// becomes a token, and is merged in every word from left to right. If counts are equal, the least a goes
// first, then the least b, as in the BpeTrainer of the `tokenizers` library. So the result depends on the
// text and the options alone. Overlapping places count each: aaa has two of (a, a).
//
// Ids: the special tokens, the 256 bytes in the order of the characters that stand for them
// (nn/text/bpe/byte_level.h), the merged tokens in order of their merges. No two merges make the same bytes,
// because the merges inside a token do not depend on its neighbours.
//
// A queue holds the pairs, and every pair the words in which it stood. So the cost of a merge is proportional to the
// length of these words.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/bpe/tokenizer.h"
#include "nn/text/bpe/tokenizer_json.h"

namespace psm::nn {

// The tokenizer of character models: each byte of a text is a token, and token i is the i-th of the text's distinct
// bytes, in ascending order.
std::shared_ptr<const Tokenizer> alphabet_of(std::string_view text);

struct BpeTrainerOptions {
  int vocab = 1024;  // tokens wanted, with the special ones and the bytes
  // Tokens that are cut out of the text before words are. No merge makes or crosses them.
  std::vector<std::string> special = {kEndOfText};
};

// Words are those of Tokenizer with the same special tokens: GPT-2's expression, no normalisation, no space in
// front. Returns fewer than `vocab` tokens if no pair is left that occurs twice. The names of special tokens
// say what they mean at the ends of a text (nn/text/bpe/tokenizer_json.h).
//
// Throws psm::Error on a text that is empty or not UTF-8, on a vocabulary without room for bytes and special tokens or
// above 2^20, and on special tokens that are empty, not UTF-8, a single byte or equal.
BpeSpec train_byte_bpe(std::string_view text, const BpeTrainerOptions& options);

}  // namespace psm::nn
