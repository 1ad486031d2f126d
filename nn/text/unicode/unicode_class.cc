#include "nn/text/unicode/unicode_class.h"

#include <algorithm>
#include <array>
#include <vector>

#include "nn/text/unicode/unicode_tables.h"

namespace psm::nn {

TextClass text_class(char32_t code) {
  static const UnicodeRanges ranges(kTextClasses);
  static const auto ascii = [] {
    std::array<TextClass, 128> table{};
    for (char32_t c = 0; c < table.size(); ++c) table[c] = static_cast<TextClass>(ranges.kind_of(c));
    return table;
  }();
  return code < ascii.size() ? ascii[code] : static_cast<TextClass>(ranges.kind_of(code));
}

BertClass bert_class(char32_t code) {
  static const UnicodeRanges ranges(kBertClasses);
  return static_cast<BertClass>(ranges.kind_of(code));
}

char32_t lower_case(char32_t code) {
  // Packed, a run is the distance of its first character from the last of the run before, twice the number of steps and
  // 1 more if it has every second character, and how far away the lower cases are.
  struct Run {
    uint32_t first, last, step, distance;
  };
  static const auto runs = [] {
    std::vector<Run> all;
    uint32_t last = 0;
    for (PackedNumbers numbers(kLowerCases); numbers.more();) {
      const uint32_t first = last + numbers.next(), steps = numbers.next(), step = 1 + steps % 2;
      last = first + steps / 2 * step;
      all.push_back({first, last, step, numbers.next_signed()});
    }
    return all;
  }();
  const auto run =
      std::lower_bound(runs.begin(), runs.end(), code, [](const Run& r, char32_t c) { return r.last < c; });
  const bool inside = run != runs.end() && run->first <= code && (code - run->first) % run->step == 0;
  return inside ? code + run->distance : code;
}

}  // namespace psm::nn
