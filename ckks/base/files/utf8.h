// UTF-8 (RFC 3629): the length and the code point of the character at a place. Overlong forms, surrogates and
// anything above U+10FFFF are refused.
#pragma once

#include <string>
#include <string_view>

#include "ckks/base/files/hex.h"

namespace psm {

struct Utf8Character {
  char32_t code = 0;
  int bytes = 0;  // 0: no character stands there
};

// The character that begins at text[at], at < text.size().
inline Utf8Character utf8_at(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(at);
  if (first < 0x80) return {first, 1};
  const int bytes = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
  if (bytes == 0 || text.size() - at < static_cast<size_t>(bytes)) return {};
  char32_t code = first & (0x7Fu >> bytes);
  for (int i = 1; i < bytes; ++i) {
    if ((byte(at + i) & 0xC0) != 0x80) return {};
    code = code << 6 | (byte(at + i) & 0x3Fu);
  }
  if (bytes == 3 && (code < 0x800 || (code >= 0xD800 && code < 0xE000))) return {};
  if (bytes == 4 && (code < 0x10000 || code > 0x10FFFF)) return {};
  return {code, bytes};
}

// The place of the first byte that is not UTF-8, or text.size().
inline size_t utf8_valid_prefix(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const int bytes = utf8_at(text, at).bytes;
    if (bytes == 0) break;
    at += static_cast<size_t>(bytes);
  }
  return at;
}

// Appends a character; code is a code point that is no surrogate.
inline void append_utf8(std::string& text, char32_t code) {
  const int more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // bytes after the first
  constexpr unsigned kFirst[] = {0, 0xC0, 0xE0, 0xF0};
  text.push_back(static_cast<char>(kFirst[more] | code >> 6 * more));
  for (int i = more - 1; i >= 0; --i) text.push_back(static_cast<char>(0x80 | (code >> 6 * i & 0x3F)));
}

// The text for people: line ends and tabs as \n and \t, and other control characters, characters that nobody sees and
// bytes that are not UTF-8 as \x1b. So none moves a terminal's cursor, turns the direction of what follows, or hides.
inline std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto [code, bytes] = utf8_at(text, 0);
    const auto within = [code = code](char32_t lo, char32_t hi) { return code >= lo && code <= hi; };
    // Controls, and what changes the direction of the text or has no width.
    const bool unseen = bytes == 0 || code < 0x20 || within(0x7f, 0x9f) || code == 0xad || code == 0x61c ||
                        within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) ||
                        code == 0xfeff || within(0xe0000, 0xe0fff);
    const size_t taken = unseen ? 1 : static_cast<size_t>(bytes);
    out += code == '\n'   ? "\\n"
           : code == '\t' ? "\\t"
           : unseen       ? "\\x" + hex(text.data(), 1)
                          : std::string(text.substr(0, taken));
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace psm
