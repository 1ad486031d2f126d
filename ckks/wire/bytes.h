// Numbers on the wire: little-endian, whatever the machine's own order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

namespace psm::wire {

// T: an integer or a floating-point number of at most eight bytes.
template <typename T>
void put(std::vector<uint8_t>& out, T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  for (size_t i = 0; i < sizeof(T); ++i) out.push_back(static_cast<uint8_t>(bits >> (8 * i)));
}

// Moves `in` behind the number. The caller must have checked that its bytes are there.
template <typename T>
T get(const uint8_t*& in) {
  uint64_t bits = 0;
  for (size_t i = 0; i < sizeof(T); ++i) bits |= static_cast<uint64_t>(*in++) << (8 * i);
  T value;
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

}  // namespace psm::wire
