// Hexadecimal digits and UTF-8.
#include <string>
#include <vector>

#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("numbers pass through sixteen hexadecimal digits, and what is no such number is refused") {
  for (const uint64_t number : {uint64_t{0}, uint64_t{0x0123456789abcdef}, ~uint64_t{0}}) {
    CHECK(number_from_hex(hex(number)) == number);
  }
  CHECK(hex(uint64_t{0x0123456789abcdef}) == "0123456789abcdef");
  for (const char* wrong :
       {"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "0x23456789abcdef"}) {
    CHECK_FALSE(number_from_hex(wrong).has_value());
  }
}

TEST_CASE("hexadecimal digits bring bytes back, and what is none is refused") {
  const std::string bytes("\x00\x7f\xff", 3);
  CHECK(hex(bytes.data(), bytes.size()) == "007fff");
  CHECK(from_hex("007fff") == bytes);
  CHECK(from_hex("") == "");
  for (const char* bad : {"0", "0g", "FF", "00 "}) CHECK(!from_hex(bad));
}

TEST_CASE("every code point comes back from its UTF-8, and no other bytes are taken for one") {
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const Utf8Character character = utf8_at(text, 0);
    REQUIRE(character.code == code);
    REQUIRE(character.bytes == static_cast<int>(text.size()));
  }
  for (const std::string bad : {"\x80", "\xc3", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xe2\x82z",
                                "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff"}) {
    CHECK(utf8_at(bad, 0).bytes == 0);
    CHECK(utf8_valid_prefix("ab" + bad) == 2);
  }
}

TEST_CASE("what would hide, move or fill is shown, and the rest stays") {
  CHECK(visible("layer 0 / größe, 层 \xf0\x9f\x98\x80") == "layer 0 / größe, 层 \xf0\x9f\x98\x80");
  CHECK(visible("a\x1b[2J\nb\x7f") == "a\\x1b[2J\\nb\\x7f");
  CHECK(visible("\xe2\x80\xae") == "\\xe2\\x80\\xae");  // right to left
  CHECK(visible("\xc2\x9b") == "\\xc2\\x9b");           // CSI in one character
  CHECK(visible("\xff\xc0\x80\xe2\x80") == "\\xff\\xc0\\x80\\xe2\\x80");
  CHECK(visible("\xed\xa0\x80\xf4\x90\x80\x80").find('\xed') == std::string::npos);
}

}  // namespace
}  // namespace psm
