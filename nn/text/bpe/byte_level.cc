#include "nn/text/bpe/byte_level.h"

#include <algorithm>
#include <array>

#include "ckks/base/files/utf8.h"
#include "nn/text/unicode/unicode_class.h"

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

// The end of the white space that begins at `at`: all of it at the end of the text, or else all but its last
// character if that leaves any.
size_t spaces_end(std::string_view text, size_t begin) {
  size_t at = begin, last = begin;
  while (at < text.size()) {
    const Classified next = classify(text, at);
    if (next.text_class != TextClass::kSpace) return last > begin ? last : at;
    last = at;
    at += next.bytes;
  }
  return at;
}

constexpr std::string_view kEndings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};

size_t gpt2_word_end(std::string_view text, size_t begin) {
  for (const std::string_view ending : kEndings)
    if (text.substr(begin, ending.size()) == ending) return begin + ending.size();
  const size_t start = text[begin] == ' ' ? begin + 1 : begin;
  if (start < text.size()) {
    const TextClass first = classify(text, start).text_class;
    if (first != TextClass::kSpace) return run_end(text, start, first);
  }
  return spaces_end(text, begin);
}

// The end of an ending of any case at `begin`, or `begin`. U+017F is an s of another shape.
size_t ending_end(std::string_view text, size_t begin) {
  if (text.substr(begin).starts_with("'\u017F")) return begin + 3;
  for (const std::string_view ending : kEndings) {
    const std::string_view here = text.substr(begin, ending.size());
    if (std::equal(here.begin(), here.end(), ending.begin(), ending.end(),
                   [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a + ('a' - 'A') : a) == b; }))
      return begin + ending.size();
  }
  return begin;
}

bool is_newline(char c) { return c == '\r' || c == '\n'; }

size_t newlines_end(std::string_view text, size_t at) {
  while (at < text.size() && is_newline(text[at])) ++at;
  return at;
}

size_t llama3_word_end(std::string_view text, size_t begin, int digits) {
  if (const size_t end = ending_end(text, begin); end > begin) return end;
  const Classified first = classify(text, begin);
  const size_t second = begin + first.bytes;
  if (first.text_class == TextClass::kLetter) return run_end(text, begin, TextClass::kLetter);
  if (first.text_class == TextClass::kNumber) {
    size_t at = second;
    for (int i = 1; i < digits && at < text.size(); ++i) {
      const Classified next = classify(text, at);
      if (next.text_class != TextClass::kNumber) break;
      at += next.bytes;
    }
    return at;
  }
  // One character of any kind but these and newlines belongs to the letters after it.
  if (!is_newline(text[begin]) && second < text.size() &&
      classify(text, second).text_class == TextClass::kLetter)
    return run_end(text, second, TextClass::kLetter);
  const size_t start = text[begin] == ' ' ? second : begin;
  if (start < text.size() && classify(text, start).text_class == TextClass::kOther)
    return newlines_end(text, run_end(text, start, TextClass::kOther));
  // White space to its last newline, if it has one.
  const size_t end = run_end(text, begin, TextClass::kSpace);
  for (size_t at = end; at > begin; --at)
    if (is_newline(text[at - 1])) return at;
  return spaces_end(text, begin);
}

// In the order of WordRule.
constexpr std::string_view kExpressions[] = {
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

}  // namespace

std::string_view expression_of(WordRule rule) { return kExpressions[static_cast<size_t>(rule)]; }

std::optional<WordRule> rule_of(std::string_view expression) {
  for (const WordRule rule : {WordRule::kGpt2, WordRule::kLlama3, WordRule::kQwen2})
    if (expression == expression_of(rule)) return rule;
  return std::nullopt;
}

size_t word_end(std::string_view text, size_t begin, WordRule rule) {
  switch (rule) {
    case WordRule::kGpt2:
      return gpt2_word_end(text, begin);
    case WordRule::kLlama3:
      return llama3_word_end(text, begin, 3);
    case WordRule::kQwen2:
      return llama3_word_end(text, begin, 1);
  }
  return text.size();
}

void for_each_part(std::string_view text, bool single_digits, const VisitPart& visit) {
  size_t begin = 0;
  for (size_t at = 0; single_digits && at < text.size();) {
    const Classified next = classify(text, at);
    if (next.text_class == TextClass::kNumber) {
      if (begin < at) visit(text.substr(begin, at - begin));
      visit(text.substr(at, next.bytes));
      begin = at + next.bytes;
    }
    at += next.bytes;
  }
  if (begin < text.size()) visit(text.substr(begin));
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
