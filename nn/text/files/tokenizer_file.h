// Tokenizers from files, whatever their kind, and from the strings that checkpoints keep.
#pragma once

#include <memory>
#include <string>

#include "nn/text/tokenizer.h"

namespace psm::nn {

// A tokenizer.json (BPE of bytes or of characters), a file of llama2.c, or GPT-2's vocabulary, which needs the
// path of its merges too. Throws psm::Error on a file that is missing, larger than 32 MiB or none of these.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, const std::string& merges_path = "");

// All of a tokenizer in one line, which begins with a word for its kind: what checkpoints keep.
std::string to_string(const Tokenizer& tokenizer);
// What to_string() wrote; throws psm::Error that begins with `what`.
std::shared_ptr<const Tokenizer> tokenizer_from_string(const std::string& text, const std::string& what);

// The tokenizer.json that transformers reads; empty for a kind that it has no file of.
std::string tokenizer_json_of(const Tokenizer& tokenizer);

}  // namespace psm::nn
