// The files that byte-level BPE tokenizers come in: tokenizer.json of the `tokenizers` library, and GPT-2's
// pair (a vocabulary in JSON, a list of merges).
//
// Files are untrusted. Sizes, depth and the number of values are bounded before anything is kept; what a file
// asks for and nn/text/byte_bpe.h does not do (other models, normalisers, pre-tokenisers, dropout, tokens
// that are whole words only) is refused by name. Every error is a psm::Error of one line that begins with
// `what`. Whether the parts fit together is checked by the constructor of ByteBpe.
#pragma once

#include <string>
#include <string_view>

#include "nn/text/byte_bpe_spec.h"

namespace psm::nn {

inline constexpr size_t kMaxTokenizerBytes = size_t{32} << 20;

// {"added_tokens": [..], "normalizer": null or NFC, "pre_tokenizer": ByteLevel, "post_processor": ..,
// "decoder": ..,
//  "model": {"type": "BPE", "vocab": {characters: id}, "merges": ["a b", ..] or [["a", "b"], ..]}}
//
// A RobertaProcessing post-processor names the tokens at a text's ends; else <|endoftext|> is the end if it
// is added.
ByteBpeSpec spec_from_tokenizer_json(std::string_view text, const std::string& what);

// A file that the function above and the `tokenizers` library read; indent 0: in one line.
std::string tokenizer_json(const ByteBpeSpec& spec, int indent);

// GPT-2's files (encoder.json and vocab.bpe, elsewhere vocab.json and merges.txt): {characters: id}, and one
// merge a line under a line that begins with #version. The special tokens of GPT-2 (<|endoftext|>) and of
// RoBERTa (<s>, <pad>, </s>, <unk>, <mask>) are recognised by their names.
ByteBpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges,
                                 const std::string& what);

}  // namespace psm::nn
