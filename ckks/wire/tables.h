// Tables as a stream of numbers: little-endian, lists with their length in front. One function describe()
// serves writing and reading. For programs (ckks/program/file), clients' files (cmd/client) and notes.
//
// A reader refuses a list that is longer than the bytes that are left, before anything is allocated.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckks/base/error.h"

namespace psm::wire {

// Numbers are as the machine has them, which is little-endian (ckks/base/error.h).
template <typename T>
void put(std::vector<uint8_t>& out, T value) {
  const size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

// Moves `in` behind the number. The caller must have checked that its bytes are there.
template <typename T>
T get(const uint8_t*& in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  in += sizeof value;
  return value;
}

class TableWriter {
 public:
  static constexpr bool kReads = false;
  using Sink = std::function<void(const std::vector<uint8_t>&)>;
  // Tables that may be long go to `sink` piece by piece, the last piece with flush(); others stay in memory.
  explicit TableWriter(Sink sink = {}) : sink_(std::move(sink)) {}

  template <typename T>
  void number(const T& value) {
    put(bytes_, value);
    if (sink_ && bytes_.size() >= kPiece) flush();
  }
  void small_number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) number(static_cast<uint8_t>(value | 0x80));
    number(static_cast<uint8_t>(value));
  }
  void flush() {
    sink_(bytes_);
    bytes_.clear();
  }
  uint32_t count(size_t count, size_t) {
    number(static_cast<uint32_t>(count));
    return static_cast<uint32_t>(count);
  }
  void text(const std::string& value) {
    count(value.size(), 1);
    bytes_.insert(bytes_.end(), value.begin(), value.end());
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  [[noreturn]] void refuse(const std::string& why) const { throw Error("cannot write this file: " + why); }

 private:
  static constexpr size_t kPiece = size_t{1} << 20;
  Sink sink_;
  std::vector<uint8_t> bytes_;
};

class TableReader {
 public:
  static constexpr bool kReads = true;
  // `name` begins every refusal.
  TableReader(const uint8_t* bytes, size_t size, std::string name)
      : at_(bytes), end_(bytes + size), name_(std::move(name)) {}

  template <typename T>
  void number(T& value) {
    need(sizeof(T));
    value = get<T>(at_);
  }
  void small_number(uint64_t& value) {
    value = 0;
    uint8_t byte = 0x80;
    for (int shift = 0; byte >= 0x80; shift += 7) {
      number(byte);
      if (shift > 56 || (byte == 0 && shift > 0)) refuse("it has a number in too many bytes; make it again");
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    }
  }
  // Reads the length of a list whose items take at least `least_bytes` each.
  uint32_t count(size_t, size_t least_bytes) {
    uint32_t count = 0;
    number(count);
    need(static_cast<size_t>(count) * least_bytes);
    return count;
  }
  void text(std::string& value) {
    const uint32_t size = count(0, 1);
    value.assign(reinterpret_cast<const char*>(at_), size);
    at_ += size;
  }
  bool at_end() const { return at_ == end_; }
  [[noreturn]] void refuse(const std::string& why) const { throw Error(name_ + why); }

 private:
  void need(size_t bytes) const {
    if (static_cast<size_t>(end_ - at_) < bytes) refuse("its tables end early; copy it again");
  }
  const uint8_t *at_, *end_;
  std::string name_;
};

// An integer as its difference from the one before: 0, -1, 1, -2, ... are the numbers 0, 1, 2, 3, ... Each has 7 bits
// in a byte, the lowest first; the highest bit says that another byte follows.
template <typename Tables, typename Integer>
void difference(Tables& tables, Integer& value, Integer& before) {
  const uint64_t apart = static_cast<uint64_t>(value) - static_cast<uint64_t>(before);
  uint64_t number = apart << 1 ^ (0 - (apart >> 63));
  tables.small_number(number);
  if constexpr (Tables::kReads) {
    const uint64_t sum = static_cast<uint64_t>(before) + (number % 2 != 0 ? ~(number / 2) : number / 2);
    value = static_cast<Integer>(sum);
    if (static_cast<uint64_t>(value) != sum)
      tables.refuse("it has a number that is too large; make it again");
  }
  before = value;
}
// A truth as a byte.
template <typename Tables>
void flag(Tables& tables, bool& value) {
  auto number = static_cast<uint8_t>(value);
  tables.number(number);
  if constexpr (Tables::kReads)
    if (number > 1) tables.refuse("it has a flag that is neither 0 nor 1; make it again");
  value = number != 0;
}

// A name that will be printed: one short line of plain text. Others are refused.
template <typename Tables>
void name(Tables& tables, std::string& value) {
  constexpr size_t kLongest = 256;  // many things may share a name, and each has it in memory
  tables.text(value);
  const bool plain = std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!plain || value.size() > kLongest)
    tables.refuse("it has a name that is no short line of plain text; make it again");
}

// Calls each(item) for every item of a list. A reader makes as many items as the file has.
template <typename Tables, typename List, typename Each>
void list(Tables& tables, List& items, size_t least_bytes, const Each& each) {
  const uint32_t count = tables.count(items.size(), least_bytes);
  if constexpr (Tables::kReads) items.resize(count);
  for (auto& item : items) each(item);
}

// The pairs of a map, in its order.
template <typename Tables, typename Map, typename Each>
void map(Tables& tables, Map& entries, size_t least_bytes, const Each& each) {
  std::vector<std::pair<typename Map::key_type, typename Map::mapped_type>> pairs(entries.begin(),
                                                                                  entries.end());
  list(tables, pairs, least_bytes, [&](auto& pair) { each(pair.first, pair.second); });
  if constexpr (!Tables::kReads) return;
  entries = {pairs.begin(), pairs.end()};
  if (entries.size() != pairs.size()) tables.refuse("it says something twice; make it again");
}

template <typename Tables>
void names(Tables& tables, std::vector<std::string>& values) {
  list(tables, values, 4, [&](std::string& value) { name(tables, value); });
}

// A value as the table that its describe() makes, and back. Throws Error, which begins with `what`, unless
// the bytes are exactly one such table.
template <typename Value>
std::string to_bytes(Value value) {
  TableWriter tables;
  describe(tables, value);
  return {tables.bytes().begin(), tables.bytes().end()};
}
template <typename Value>
Value from_bytes(std::string_view bytes, const std::string& what) {
  TableReader tables(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size(), what + ": ");
  Value value;
  describe(tables, value);
  if (!tables.at_end()) tables.refuse("there is more in it than it says");
  return value;
}

}  // namespace psm::wire
