// Tokenizers from files, whatever their kind.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "nn/text/bpe/bpe_spec.h"
#include "nn/text/bpe/tokenizer.h"

namespace psm::nn {

// llama2.c's files of tokenizers: SentencePiece's byte-pair encoding with a score for each token.
//
// A text gets one space in front and is cut into characters of UTF-8, or bytes where it is not valid UTF-8. A
// character without a token becomes its bytes, tokens named "<0xNN>". Then, as long as two neighbours
// together are a token, the pair whose token has the highest score is merged, the leftmost of equals. Token 0
// is unknown, 1 begins a text, 2 ends it. Encoding makes none of these, and bytes are not merged.
//
// The file, little-endian (github.com/karpathy/llama2.c, tokenizer.py writes it and run.c reads it):
//
//     int32     the longest token's bytes
//     then for each token, to the end of the file: float32 score, int32 length, its bytes

// Throws psm::Error that begins with `what` if the file is truncated, has a length beyond its own maximum or
// 4096, or has more than 2^20 tokens.
BpeSpec llama2_spec(std::string_view file, const std::string& what);

// A tokenizer.json (BPE of bytes or of characters, WordPiece), a file of llama2.c, GPT-2's vocab.json with merges.txt next
// to it (or encoder.json with vocab.bpe), or BERT's vocabulary, a name that ends in .txt; tokenizer_config.json may lie
// next to it. Throws psm::Error on a file that is missing, larger than 32 MiB or none of these.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path);

}  // namespace psm::nn
