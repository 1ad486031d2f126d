// The tokenizer of character models: each byte of a text is a token, and token i is the i-th of the bytes
// that occur.
#pragma once

#include <memory>
#include <string_view>

#include "nn/text/bpe/tokenizer.h"

namespace psm::nn {

// The distinct bytes of a text, in order.
std::shared_ptr<const Tokenizer> alphabet_of(std::string_view text);

}  // namespace psm::nn
