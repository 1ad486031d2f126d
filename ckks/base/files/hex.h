// Bytes as hexadecimal digits, two a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace psm {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

inline std::string hex(const void* bytes, size_t count) {
  std::string text;
  text.reserve(2 * count);
  for (size_t i = 0; i < count; ++i) {
    const unsigned char byte = static_cast<const unsigned char*>(bytes)[i];
    text += kHexDigits[byte >> 4];
    text += kHexDigits[byte & 15];
  }
  return text;
}

// Undoes hex(). Returns nullopt unless the text consists of pairs of hex digits.
inline std::optional<std::string> from_hex(std::string_view digits) {
  if (digits.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(digits.size() / 2);
  for (size_t i = 0; i < digits.size(); i += 2) {
    const size_t high = kHexDigits.find(digits[i]), low = kHexDigits.find(digits[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

// A number as sixteen digits, the highest first, because JSON's own numbers are exact only below 2^53.
inline std::string hex(uint64_t number) {
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kHexDigits[number >> shift & 15];
  return text;
}

}  // namespace psm
