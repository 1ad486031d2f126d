// Bytes as hexadecimal digits, two a byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace psm {

std::string hex(const void* bytes, size_t count);
// The bytes that hex() was given. Returns nullopt unless the text consists of pairs of hex digits.
std::optional<std::string> from_hex(std::string_view digits);

// A number as sixteen digits, the highest first: JSON's own numbers end before 2^64.
std::string hex(uint64_t number);
std::optional<uint64_t> number_from_hex(std::string_view digits);

}  // namespace psm
