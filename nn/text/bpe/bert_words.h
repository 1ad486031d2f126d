// BERT's basic tokenizer: how it writes a text before it is cut, and its words. As in the `tokenizers` library:
//
//   1. characters of BertClass::kLeftOut go, white space becomes a space, and a Chinese character gets one on each
//      side;
//   2. without accents: the text is brought to NFD, and nonspacing marks go;
//   3. in lower case: each character by itself.
//
// A word ends at white space, which belongs to none. A character of punctuation is a word of its own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace psm::nn {

// `text` must be valid UTF-8.
std::string bert_text(std::string_view text, bool strips_accents, bool lower_case);

// Calls visit(word) in order.
void for_each_bert_word(std::string_view text, const std::function<void(std::string_view word)>& visit);

}  // namespace psm::nn
