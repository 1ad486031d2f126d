#include "nn/text/bpe/byte_level.h"

#include <algorithm>

#include "ckks/base/files/utf8.h"
#include "nn/text/unicode/unicode.h"

namespace psm::nn {
namespace {

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

}  // namespace

size_t word_end(std::string_view text, size_t begin, WordRule rule) {
  return rule == WordRule::kGpt2 ? gpt2_word_end(text, begin)
                                 : llama3_word_end(text, begin, rule == WordRule::kLlama3 ? 3 : 1);
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

}  // namespace psm::nn
