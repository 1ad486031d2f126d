#include "nn/text/unicode/unicode.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace psm::nn {
namespace {

// Letters, numbers and white space of Unicode 16.0, what BERT's rules need of the characters of Unicode 8.0, lower cases
// of 17.0, and what NFC needs of the characters of Unicode 9.0. A string is a list of numbers in base 47, lowest digit
// first: '!' to 'O' is a number's last digit, 'P' to '~' one that others follow. make_tables.py prints them.
#include "nn/text/unicode/unicode_tables.inc"

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
    const auto at = std::ranges::lower_bound(ranges_, code, {}, &Range::last);
    return at != ranges_.end() && at->first <= code ? at->kind : 0;
  }

 private:
  struct Range {
    uint32_t first, last;
    uint8_t kind;
  };
  std::vector<Range> ranges_;
};

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
void unpack(std::string_view packed, Decompositions& rows) {
  uint32_t code = 0, first = 0, second = 0;
  for (PackedNumbers numbers(packed); numbers.more();) {
    const uint32_t next = numbers.next();
    const bool two = next % 2 == 1;
    code += next / 2;
    first += numbers.next_signed();
    if (two) second += numbers.next_signed();
    rows[code] = {first, two ? second : 0};
  }
}

void decompose(char32_t code, std::vector<Character>& out) {
  if (code >= kSyllable && code < kSyllable + kSyllables) {
    const char32_t index = code - kSyllable, trailing = index % kTrailings;
    out.push_back({kLeading + index / (kVowels * kTrailings), 0});
    out.push_back({kVowel + index / kTrailings % kVowels, 0});
    if (trailing != 0) out.push_back({kTrailing + trailing, 0});
    return;
  }
  static const auto all = [] {
    Decompositions rows;
    unpack(kComposites, rows), unpack(kOtherDecompositions, rows);
    return rows;
  }();
  const auto row = all.find(code);
  if (row == all.end()) {
    out.push_back({code, combining_class(code)});
    return;
  }
  decompose(row->second.first, out);
  if (row->second.second != 0) decompose(row->second.second, out);
}

// What two characters compose to, or 0.
char32_t compose(char32_t first, char32_t second) {
  if (first >= kLeading && first < kLeading + kLeadings && second >= kVowel && second < kVowel + kVowels)
    return kSyllable + ((first - kLeading) * kVowels + (second - kVowel)) * kTrailings;
  if (first >= kSyllable && first < kSyllable + kSyllables && (first - kSyllable) % kTrailings == 0 &&
      second > kTrailing && second < kTrailing + kTrailings)
    return first + (second - kTrailing);
  static const auto pairs = [] {
    Decompositions rows;
    unpack(kComposites, rows);
    std::map<std::pair<char32_t, char32_t>, char32_t> map;
    for (const auto& [composed, parts] : rows) map[{parts.first, parts.second}] = composed;
    return map;
  }();
  const auto found = pairs.find({first, second});
  return found == pairs.end() ? 0 : found->second;
}

// Whether all characters are below `first`.
bool is_below(std::string_view text, char32_t first) {
  bool below = true;
  for_each_character(text, [&](char32_t code, size_t) { below = below && code < first; });
  return below;
}

// Canonical decomposition in canonical order.
std::vector<Character> decomposed(std::string_view text) {
  std::vector<Character> characters;
  for_each_character(text, [&](char32_t code, size_t) { decompose(code, characters); });

  // Canonical order: runs of combining characters sorted by their class, equals as they stood.
  for (auto begin = characters.begin(); begin != characters.end();) {
    if (begin->combining_class == 0) {
      ++begin;
      continue;
    }
    const auto end = std::ranges::find(begin, characters.end(), 0, &Character::combining_class);
    std::ranges::stable_sort(begin, end, {}, &Character::combining_class);
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
  const auto run = std::ranges::lower_bound(runs, code, {}, &Run::last);
  const bool inside = run != runs.end() && run->first <= code && (code - run->first) % run->step == 0;
  return inside ? code + run->distance : code;
}

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
