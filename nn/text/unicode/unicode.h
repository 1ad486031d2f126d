// What the `tokenizers` library (0.23) asks of a character, in the versions of Unicode that it has:
//   16.0   \p{L}, \p{N} and \s in the regular expressions of byte-level tokenizers
//   8.0    what BERT's rules leave out, take for an accent, or for punctuation (nn/text/bpe/bert_words.h)
//   17.0   lower cases
//   9.0    normalisation forms; later characters stay as they are
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"

namespace psm::nn {

// Calls visit(code, place) with each character of a valid UTF-8 text.
template <typename Visit>
void for_each_character(std::string_view text, const Visit& visit) {
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_at(text, at);
    PSM_CHECK(character.bytes > 0, at);
    visit(character.code, at);
    at += static_cast<size_t>(character.bytes);
  }
}

enum class TextClass : uint8_t { kOther, kLetter, kNumber, kSpace };

TextClass text_class(char32_t code);

// Left out are control characters and U+FFFD; accents are nonspacing marks; all other ASCII than letters, digits and
// the space is punctuation.
enum class BertClass : uint8_t { kOther, kLeftOut, kAccent, kPunctuation };

BertClass bert_class(char32_t code);

// The lower case that is one character, or `code` itself. (U+0130 alone has one of two.)
char32_t lower_case(char32_t code);

// Unicode's normalisation forms (UAX #15): D is canonical decomposition and canonical order; C is D and then canonical
// composition. `text` must be valid UTF-8. Canonically equivalent texts have equal results.
std::string to_nfc(std::string_view text);
std::string to_nfd(std::string_view text);

}  // namespace psm::nn
