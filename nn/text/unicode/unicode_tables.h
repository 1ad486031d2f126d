// Letters, numbers and white space of Unicode 16.0, what BERT's rules need of the characters of Unicode 8.0,
// lower cases of 17.0, and what NFC needs of the characters of Unicode 9.0, packed as unicode_class.cc and
// unicode_nfc.cc read it.
//
// A string is a list of numbers in base 47, lowest digit first: '!' to 'O' is a number's last digit, 'P' to '~'
// one that others follow.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

namespace psm::nn {

// Reads the packed tables.
class PackedNumbers {
 public:
  explicit PackedNumbers(std::string_view text) : text_(text) { skip_line_ends(); }

  bool more() const { return !text_.empty(); }

  uint32_t next() {
    constexpr uint32_t kBase = 47;
    uint32_t value = 0, weight = 1, digit = kBase;
    while (digit >= kBase) {
      digit = static_cast<uint32_t>(text_.front() - '!');
      value += digit % kBase * weight;
      weight *= kBase;
      text_.remove_prefix(1);
      skip_line_ends();
    }
    return value;
  }

  // 0, -1, 1, -2 .. are packed as 0, 1, 2, 3 ..; modulo 2^32.
  uint32_t next_signed() {
    const uint32_t value = next();
    return value % 2 == 0 ? value / 2 : ~(value / 2);
  }

 private:
  void skip_line_ends() {
    while (text_.starts_with('\n')) text_.remove_prefix(1);
  }

  std::string_view text_;
};

// Ranges of characters of one kind; all other characters have kind 0. A packed range is the distance of its
// first character from the end of the range before, its length less one, and its kind.
class UnicodeRanges {
 public:
  explicit UnicodeRanges(std::string_view packed) {
    uint32_t end = 0;
    for (PackedNumbers numbers(packed); numbers.more(); end = ranges_.back().last + 1) {
      const uint32_t first = end + numbers.next(), last = first + numbers.next();
      ranges_.push_back({first, last, static_cast<uint8_t>(numbers.next())});
    }
  }

  uint8_t kind_of(char32_t code) const {
    const auto at = std::lower_bound(ranges_.begin(), ranges_.end(), code,
                                     [](const Range& range, char32_t c) { return range.last < c; });
    return at != ranges_.end() && at->first <= code ? at->kind : 0;
  }

 private:
  struct Range {
    uint32_t first, last;
    uint8_t kind;
  };
  std::vector<Range> ranges_;
};

#include "nn/text/unicode/unicode_tables.inc"  // make_tables.py prints it

}  // namespace psm::nn
