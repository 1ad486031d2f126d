#include "nn/text/unicode/unicode_nfc.h"

#include <algorithm>
#include <map>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/files/utf8.h"
#include "nn/text/unicode/unicode_tables.h"

namespace psm::nn {
namespace {

// Hangul syllables are computed (The Unicode Standard, section 3.12): 19 leading consonants, 21 vowels, 27
// trailing consonants or none.
constexpr char32_t kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11A7, kSyllable = 0xAC00;
constexpr char32_t kLeadings = 19, kVowels = 21, kTrailings = 28;
constexpr char32_t kSyllables = kLeadings * kVowels * kTrailings;

// Below it nothing decomposes to other than two characters of which the second is at or above it: such a text
// is NFC. Below the first that decomposes, a text is NFD too.
constexpr char32_t kFirstCombining = 0x300, kFirstComposite = 0xC0;

struct Character {
  char32_t code;
  int combining_class;
};

uint8_t combining_class(char32_t code) {
  static const UnicodeRanges ranges(kCombiningClasses);
  return ranges.kind_of(code);
}

// A canonical decomposition, one step; second = 0: into one character.
struct Decomposition {
  char32_t first, second;
};
using Decompositions = std::map<char32_t, Decomposition>;

// Packed, a row is the distance of its character from that of the row before, doubled, and 1 more where there is
// a second one; then the differences of the first and the second from those before.
Decompositions unpacked(std::string_view packed) {
  Decompositions rows;
  uint32_t code = 0, first = 0, second = 0;
  for (PackedNumbers numbers(packed); numbers.more();) {
    const uint32_t next = numbers.next();
    const bool two = next % 2 == 1;
    code += next / 2;
    first += numbers.next_signed();
    if (two) second += numbers.next_signed();
    rows[code] = {first, two ? second : 0};
  }
  return rows;
}

// Those that compose again, and the others.
const Decompositions& composites() {
  static const Decompositions rows = unpacked(kComposites);
  return rows;
}
const Decompositions& others() {
  static const Decompositions rows = unpacked(kOtherDecompositions);
  return rows;
}

void decompose(char32_t code, std::vector<Character>& out) {
  if (code >= kSyllable && code < kSyllable + kSyllables) {
    const char32_t index = code - kSyllable, trailing = index % kTrailings;
    out.push_back({kLeading + index / (kVowels * kTrailings), 0});
    out.push_back({kVowel + index / kTrailings % kVowels, 0});
    if (trailing != 0) out.push_back({kTrailing + trailing, 0});
    return;
  }
  const auto find = [&](const Decompositions& rows) {
    const auto row = rows.find(code);
    return row == rows.end() ? nullptr : &row->second;
  };
  const Decomposition* row = find(composites());
  if (row == nullptr) row = find(others());
  if (row == nullptr) {
    out.push_back({code, combining_class(code)});
    return;
  }
  decompose(row->first, out);
  if (row->second != 0) decompose(row->second, out);
}

// What two characters compose to, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (first >= kLeading && first < kLeading + kLeadings && second >= kVowel && second < kVowel + kVowels)
    return kSyllable + ((first - kLeading) * kVowels + (second - kVowel)) * kTrailings;
  if (first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTrailings == 0 &&
      second > kTrailing && second < kTrailing + kTrailings)
    return first + (second - kTrailing);
  static const auto pairs = [] {
    std::map<std::pair<char32_t, char32_t>, char32_t> map;
    for (const auto& [composed, parts] : composites()) map[{parts.first, parts.second}] = composed;
    return map;
  }();
  const auto found = pairs.find({first, second});
  return found == pairs.end() ? 0 : found->second;
}

// Whether all characters are below `first`.
bool is_below(std::string_view text, char32_t first) {
  bool below = true;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_at(text, at);
    PSM_CHECK(character.bytes > 0, at);
    below = below && character.code < first;
    at += static_cast<size_t>(character.bytes);
  }
  return below;
}

// Canonical decomposition in canonical order.
std::vector<Character> decomposed(std::string_view text) {
  std::vector<Character> characters;
  for (size_t at = 0; at < text.size();) {
    const Utf8Character character = utf8_at(text, at);
    decompose(character.code, characters);
    at += static_cast<size_t>(character.bytes);
  }

  // Canonical order: runs of combining characters sorted by their class, equals as they stood.
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (begin->combining_class == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, characters.end(), [](const Character& c) { return c.combining_class == 0; });
    std::stable_sort(begin, end, [](const Character& a, const Character& b) {
      return a.combining_class < b.combining_class;
    });
    begin = end;
  }
  return characters;
}

std::string joined(const std::vector<Character>& characters) {
  std::string out;
  for (const Character& character : characters) append_utf8(out, character.code);
  return out;
}

}  // namespace

std::string to_nfd(std::string_view text) {
  return is_below(text, kFirstComposite) ? std::string(text) : joined(decomposed(text));
}

std::string to_nfc(std::string_view text) {
  if (is_below(text, kFirstCombining)) return std::string(text);
  // A character composes with the last starter if none between the two has its class or a higher one, or is a
  // starter.
  std::vector<Character> composed;
  size_t starter = 0;
  bool has_starter = false;
  for (const Character& character : decomposed(text)) {
    const bool adjacent = has_starter && starter + 1 == composed.size();
    const bool blocked =
        !adjacent && (!has_starter || composed.back().combining_class >= character.combining_class);
    const char32_t both = blocked || !has_starter ? 0 : compose(composed[starter].code, character.code);
    if (both != 0) {
      composed[starter].code = both;
      continue;
    }
    if (character.combining_class == 0) starter = composed.size(), has_starter = true;
    composed.push_back(character);
  }
  return joined(composed);
}

}  // namespace psm::nn
