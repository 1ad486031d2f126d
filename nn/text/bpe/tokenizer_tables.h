// Tokenizers as tables (ckks/wire/tables.h), as checkpoints and clients' files keep them. They hold all that encoding
// needs, in one form for every kind of file that a tokenizer comes from. Byte by byte, in the words of FORMATS.md:
//
//   flag    1: some tokens are kept (bpe_spec.h). Then: list of i32 kept tokens, text: the tokenizer of those. End
//   u8      BpeKind
//   list    tokens: texts
//   list    merges by rank: i32, i32
//   list    scores of llama2.c's tokens: f32
//   list    added tokens: text, i32 token, flags special, normalised, strips left, strips right
//   i32     first token of a text, last token, unknown token; -1 for none
//   u8      SpacePrefix
//   u8      WordRule
//   flags   the last token is added, NFC, single digits, whole words, one unknown token for several characters
//   flags   strips accents, lower case; if it is WordPiece
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "nn/text/bpe/tokenizer.h"

namespace psm::nn {

std::string tokenizer_bytes(const Tokenizer& tokenizer);
// Throws psm::Error that begins with `what` for anything else.
std::shared_ptr<const Tokenizer> tokenizer_from_bytes(std::string_view bytes, const std::string& what);

}  // namespace psm::nn
