// The tables of a program's file as a stream of numbers: little-endian, lists with their length in front. One
// function describes what is written and what is read (program_file.cc), for both have the same members.
//
// A reader refuses a list that is longer than the bytes that are left, before anything is allocated.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/wire/bytes.h"

namespace psm::program {

class TableWriter {
 public:
  static constexpr bool kReads = false;
  template <typename T>
  void number(const T& value) {
    wire::put(bytes_, value);
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
  [[noreturn]] void refuse(const std::string& why) const { throw Error("cannot write a program: " + why); }

 private:
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
    value = wire::get<T>(at_);
  }
  // Of a list whose items take at least so many bytes each.
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

// Every item of a list, after a reader made as many as the file has.
template <typename Tables, typename List, typename Each>
void list(Tables& tables, List& items, size_t least_bytes, const Each& each) {
  const uint32_t count = tables.count(items.size(), least_bytes);
  if constexpr (Tables::kReads) items.resize(count);
  for (auto& item : items) each(item);
}

}  // namespace psm::program
