#include "nn/text/bpe/bert_words.h"

#include "ckks/base/files/utf8.h"
#include "nn/text/unicode/unicode.h"

namespace psm::nn {
namespace {

// The library's ranges; one of them begins later than Unicode's.
bool is_chinese(char32_t code) {
  constexpr char32_t kRanges[][2] = {{0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xF900, 0xFAFF},
                                     {0x20000, 0x2A6DF}, {0x2A700, 0x2B81F}, {0x2B920, 0x2CEAF},
                                     {0x2F800, 0x2FA1F}};
  for (const auto& [first, last] : kRanges)
    if (code >= first && code <= last) return true;
  return false;
}

}  // namespace

std::string bert_text(std::string_view text, bool strips_accents, bool in_lower_case) {
  std::string clean;
  for_each_character(text, [&](char32_t code, size_t) {
    if (bert_class(code) == BertClass::kLeftOut) return;
    const bool chinese = is_chinese(code);
    if (chinese) clean += ' ';
    append_utf8(clean, text_class(code) == TextClass::kSpace ? U' ' : code);
    if (chinese) clean += ' ';
  });
  if (strips_accents) clean = to_nfd(clean);
  std::string out;
  for_each_character(clean, [&](char32_t code, size_t) {
    if (strips_accents && bert_class(code) == BertClass::kAccent) return;
    if (in_lower_case && code == U'\u0130') {
      out += "i\u0307";
    } else {
      append_utf8(out, in_lower_case ? lower_case(code) : code);
    }
  });
  return out;
}

void for_each_bert_word(std::string_view text, const std::function<void(std::string_view word)>& visit) {
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (begin < end) visit(text.substr(begin, end - begin));
    begin = end;
  };
  for_each_character(text, [&](char32_t code, size_t at) {
    const bool space = text_class(code) == TextClass::kSpace;
    if (!space && bert_class(code) != BertClass::kPunctuation) return;
    end_word(at);
    const size_t next = at + static_cast<size_t>(utf8_at(text, at).bytes);
    if (space) begin = next;
    end_word(next);
  });
  end_word(text.size());
}

}  // namespace psm::nn
