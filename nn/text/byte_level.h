// What byte-level tokenizers do before they merge (GPT-2, RoBERTa, GPT-NeoX): texts are cut into words, and
// the bytes of a word are written as printable characters, so that every token is a readable string.
//
// Words are what this expression matches, one after another, the first alternative that fits at each place:
//
//     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//
// so the last of several spaces belongs to the word after them. Bytes 33-126, 161-172 and 174-255 are written
// as the code points of the same numbers, the other 68, in order, as those from 256 on: a space is U+0120.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace psm::nn {

// The end of the word that begins at text[begin], begin < text.size(); `text` must be valid UTF-8.
size_t word_end(std::string_view text, size_t begin);

std::string bytes_to_characters(std::string_view bytes);
// Nothing if a character stands for no byte.
std::optional<std::string> characters_to_bytes(std::string_view characters);

}  // namespace psm::nn
