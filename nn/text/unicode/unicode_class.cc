#include "nn/text/unicode/unicode_class.h"

#include <array>

#include "nn/text/unicode/unicode_ranges.h"
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

}  // namespace psm::nn
