#include "nn/text/unicode/unicode.h"

#include "ckks/base/files/utf8.h"
#include "doctest/doctest.h"

namespace psm::nn {
namespace {

TEST_CASE("letters, numbers and white space of several scripts are told apart") {
  for (const char32_t letter : {U'a', U'Z', U'é', U'ß', U'ж', U'日'})
    CHECK(text_class(letter) == TextClass::kLetter);
  for (const char32_t number : {U'0', U'9', U'½', U'٣', U'Ⅷ'})
    CHECK(text_class(number) == TextClass::kNumber);
  for (const char32_t space : {U' ', U'\n', U'\u0085', U'\u00a0', U'\u3000'})
    CHECK(text_class(space) == TextClass::kSpace);
  for (const char32_t other : {U'\0', U'\x1c', U'_', U'\u0301', U'😀', U'\u200b', char32_t{0x10FFFF}})
    CHECK(text_class(other) == TextClass::kOther);
}

TEST_CASE("the tables have every character of Unicode 16.0 that is a letter, a number or white space") {
  int count[4] = {};
  for (char32_t code = 0; code <= 0x10FFFF; ++code) ++count[static_cast<size_t>(text_class(code))];
  CHECK(count[static_cast<size_t>(TextClass::kLetter)] == 141028);
  CHECK(count[static_cast<size_t>(TextClass::kNumber)] == 1911);
  CHECK(count[static_cast<size_t>(TextClass::kSpace)] == 25);
}

TEST_CASE("BERT's classes have the characters of Unicode 8.0, and lower cases are those of 17.0") {
  int count[4] = {}, lowered = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    ++count[static_cast<size_t>(bert_class(code))];
    lowered += lower_case(code) != code;
  }
  CHECK(count[static_cast<size_t>(BertClass::kLeftOut)] == 137681);
  CHECK(count[static_cast<size_t>(BertClass::kAccent)] == 1567);
  CHECK(count[static_cast<size_t>(BertClass::kPunctuation)] == 726);
  CHECK(lowered == 1487);
  CHECK(lower_case(U'\u0100') == U'\u0101');
  CHECK(lower_case(U'\u0101') == U'\u0101');
  CHECK(lower_case(U'\u1e9e') == U'ß');
  CHECK(lower_case(char32_t{0x16EB8}) == char32_t{0x16ED3});
}

TEST_CASE("NFC changes as many characters as Unicode 9.0 decomposes for good, and what it gives is NFC") {
  int changed = 0;
  for (char32_t code = 0; code <= 0x10FFFF; ++code) {
    if (code >= 0xD800 && code < 0xE000) continue;
    std::string text;
    append_utf8(text, code);
    const std::string nfc = to_nfc(text);
    changed += nfc != text;
    CHECK_UNARY(to_nfc(nfc) == nfc);
  }
  CHECK(changed == 1120);
}

TEST_CASE("NFC composes, orders marks, keeps what is excluded apart, and computes Hangul") {
  CHECK(to_nfc("plain ASCII") == "plain ASCII");
  CHECK(to_nfc("e\u0301") == "\u00e9");
  CHECK(to_nfc("q\u0307\u0323") == "q\u0323\u0307");
  CHECK(to_nfc("\u1e9b\u0323") == "\u1e9b\u0323");
  CHECK(to_nfc("\u0958") == "\u0915\u093c");
  CHECK(to_nfc("\u212b") == "\u00c5");
  CHECK(to_nfc("\u1112\u1161\u11ab") == "\ud55c");
  CHECK(to_nfc("\uac00\u11a8") == "\uac01");
  CHECK(to_nfc("\u0301e") == "\u0301e");
  CHECK(to_nfd("\u00e9\u1e69q") == "e\u0301s\u0323\u0307q");
}

}  // namespace
}  // namespace psm::nn
