// How files write the parts of byte_level.h: the bytes of a token as printable characters, and the rule for
// words as an expression.
//
// Bytes 33-126, 161-172 and 174-255 are written as the code points of the same numbers, the other 68, in order, as those
// from 256 on: a space is U+0120.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "nn/text/bpe/byte_level.h"

namespace psm::nn {

// The expression as files have it, and back. Returns nullopt for any other expression.
std::string_view expression_of(WordRule rule);
std::optional<WordRule> rule_of(std::string_view expression);

std::string bytes_to_characters(std::string_view bytes);
// Returns nullopt if a character stands for no byte.
std::optional<std::string> characters_to_bytes(std::string_view characters);

}  // namespace psm::nn
