// Tokenizers as tables (ckks/wire/tables.h): all that encoding takes, in one plain form, whichever file a tokenizer came
// from: what checkpoints and clients' files keep. FORMATS.md has it byte by byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "nn/text/tokenizer.h"

namespace psm::nn {

std::string tokenizer_bytes(const Tokenizer& tokenizer);
// Throws psm::Error that begins with `what` for anything else.
std::shared_ptr<const Tokenizer> tokenizer_from_bytes(std::string_view bytes, const std::string& what);

}  // namespace psm::nn
