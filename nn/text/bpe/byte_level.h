// Byte-level tokenizers cut texts into words before they merge.
//
// A word is the next match of an expression (expression_of() in tokenizer_json.h), where the first alternative that
// fits counts. So the last of several spaces belongs to the word after them.
#pragma once

#include <functional>
#include <string_view>

namespace psm::nn {

enum class WordRule { kGpt2, kLlama3, kQwen2 };

// The end of the word that begins at text[begin], begin < text.size(); `text` must be valid UTF-8.
size_t word_end(std::string_view text, size_t begin, WordRule rule = WordRule::kGpt2);

// Calls visit(part) in order, for the whole text or, with single_digits, for every digit and every stretch
// between digits.
using VisitPart = std::function<void(std::string_view part)>;
void for_each_part(std::string_view text, bool single_digits, const VisitPart& visit);

}  // namespace psm::nn
