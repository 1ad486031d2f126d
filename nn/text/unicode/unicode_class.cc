#include "nn/text/unicode/unicode_class.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "nn/text/unicode/unicode_class_table.h"

namespace psm::nn {

namespace {

constexpr TextClass find(char32_t code) {
  const auto after =
      std::upper_bound(std::begin(kTextClasses), std::end(kTextClasses), code,
                       [](char32_t c, const TextClassRange& range) { return c < range.first; });
  if (after == std::begin(kTextClasses)) return TextClass::kOther;
  const TextClassRange& range = *(after - 1);
  return code <= range.last ? range.text_class : TextClass::kOther;
}

constexpr auto kAscii = [] {
  std::array<TextClass, 128> table{};
  for (char32_t code = 0; code < table.size(); ++code) table[code] = find(code);
  return table;
}();

}  // namespace

TextClass text_class(char32_t code) { return code < kAscii.size() ? kAscii[code] : find(code); }

}  // namespace psm::nn
