// Bytes as hexadecimal digits, two a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace psm {

std::string hex(const void* bytes, size_t count);
// Undoes hex(). Returns nullopt unless the text consists of pairs of hex digits.
std::optional<std::string> from_hex(std::string_view digits);

// A number as sixteen digits, the highest first, because JSON's own numbers are exact only below 2^53.
std::string hex(uint64_t number);

}  // namespace psm
