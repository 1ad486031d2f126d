// Letters, numbers and white space for the regular expressions of byte-level tokenizers: \p{L}, \p{N} and \s
// of Unicode 16.0, the version of the `tokenizers` library (0.23).
#pragma once

#include <cstdint>

namespace psm::nn {

enum class TextClass : uint8_t { kOther, kLetter, kNumber, kSpace };

TextClass text_class(char32_t code);

}  // namespace psm::nn
