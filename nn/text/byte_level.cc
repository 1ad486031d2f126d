#include "nn/text/byte_level.h"

#include <array>

#include "ckks/base/files/utf8.h"
#include "nn/text/unicode_class.h"

namespace psm::nn {
namespace {

// The code point that stands for each byte.
constexpr std::array<char32_t, 256> make_characters() {
  std::array<char32_t, 256> table{};
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    table[byte] = printable ? byte : next++;
  }
  return table;
}

constexpr std::array<char32_t, 256> kCharacters = make_characters();
constexpr char32_t kEnd = 256 + 68;  // behind the last of them

constexpr std::array<int, kEnd> make_bytes() {
  std::array<int, kEnd> table{};
  table.fill(-1);
  for (int byte = 0; byte < 256; ++byte) table[kCharacters[byte]] = byte;
  return table;
}

constexpr std::array<int, kEnd> kBytes = make_bytes();

struct Classified {
  TextClass text_class;
  size_t bytes;
};

Classified classify(std::string_view text, size_t at) {
  const Utf8Character character = utf8_at(text, at);
  return {text_class(character.code), static_cast<size_t>(character.bytes)};
}

// The end of the characters of one class that begin at `at`.
size_t run_end(std::string_view text, size_t at, TextClass wanted) {
  while (at < text.size()) {
    const Classified next = classify(text, at);
    if (next.text_class != wanted) break;
    at += next.bytes;
  }
  return at;
}

}  // namespace

size_t word_end(std::string_view text, size_t begin) {
  if (text[begin] == '\'') {
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.substr(begin, ending.size()) == ending) return begin + ending.size();
  }
  const size_t start = text[begin] == ' ' ? begin + 1 : begin;
  if (start < text.size()) {
    const TextClass first = classify(text, start).text_class;
    if (first != TextClass::kSpace) return run_end(text, start, first);
  }
  // White space: all of it at the end of the text, or else all but its last character if that leaves any.
  size_t at = begin, last = begin;
  while (at < text.size()) {
    const Classified next = classify(text, at);
    if (next.text_class != TextClass::kSpace) return last > begin ? last : at;
    last = at;
    at += next.bytes;
  }
  return at;
}

std::string bytes_to_characters(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) append_utf8(out, kCharacters[static_cast<unsigned char>(byte)]);
  return out;
}

std::optional<std::string> characters_to_bytes(std::string_view characters) {
  std::string out;
  for (size_t at = 0; at < characters.size();) {
    const Utf8Character character = utf8_at(characters, at);
    if (character.bytes == 0 || character.code >= kEnd || kBytes[character.code] < 0) return std::nullopt;
    out.push_back(static_cast<char>(kBytes[character.code]));
    at += static_cast<size_t>(character.bytes);
  }
  return out;
}

}  // namespace psm::nn
