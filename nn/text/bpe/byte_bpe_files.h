// The files that byte-level BPE tokenizers come in: tokenizer.json of the `tokenizers` library, and GPT-2's
// pair (a vocabulary in JSON, a list of merges). nn/text/bpe/bpe_json.h says what is refused, and how. The
// constructor of Bpe checks whether the parts fit together.
#pragma once

#include <string>
#include <string_view>

#include "nn/text/bpe/bpe_json.h"
#include "nn/text/bpe/bpe_spec.h"

namespace psm::nn {

// {"added_tokens": [..], "normalizer": null or NFC, "pre_tokenizer": ByteLevel, or before it in a Sequence a
//  Split by one of the expressions of nn/text/bpe/byte_level.h or Digits one by one, "post_processor": ..,
//  "decoder": ..,
//  "model": {"type": "BPE", "vocab": {characters: id}, "merges": ["a b", ..] or [["a", "b"], ..],
//  "ignore_merges"}}
BpeSpec spec_from_tokenizer_json(const Json& json, const std::string& what);

// Writes a file that the function above and the `tokenizers` library read. indent 0: in one line.
std::string tokenizer_json(const BpeSpec& spec, int indent);

// GPT-2's files (encoder.json and vocab.bpe, elsewhere vocab.json and merges.txt): {characters: id}, and one
// merge a line under a line that begins with #version. The special tokens of GPT-2 (<|endoftext|>) and of
// RoBERTa (<s>, <pad>, </s>, <unk>, <mask>) are recognised by their names.
BpeSpec spec_from_gpt2_files(std::string_view vocabulary, std::string_view merges, const std::string& what);

}  // namespace psm::nn
