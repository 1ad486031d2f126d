// Tokenizers from files, whatever their kind.
#pragma once

#include <memory>
#include <string>

#include "nn/text/tokenizer.h"

namespace psm::nn {

// A tokenizer.json (BPE of bytes or of characters, WordPiece), a file of llama2.c, or GPT-2's vocabulary, which needs
// the path of its merges too. A name that ends in .txt is BERT's vocabulary; tokenizer_config.json may lie next to it.
// Throws psm::Error on a file that is missing, larger than 32 MiB or none of these.
std::shared_ptr<const Tokenizer> load_tokenizer(const std::string& path, const std::string& merges_path = "");

// The tokenizer.json that transformers reads; empty for a kind without such a file.
std::string tokenizer_json_of(const Tokenizer& tokenizer);

}  // namespace psm::nn
