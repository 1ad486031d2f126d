#include "nn/text/tokenizer.h"

#include <charconv>

#include "ckks/base/files/utf8.h"

namespace psm::nn {

std::string printable(std::string_view bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Character character = utf8_at(bytes, at);
    const auto byte = static_cast<unsigned char>(bytes[at]);
    if (byte == '\n') {
      out += "\\n";
    } else if (byte == '\t') {
      out += "\\t";
    } else if (character.bytes == 0 || byte < 0x20 || byte == 0x7f) {
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += bytes.substr(at, static_cast<size_t>(character.bytes));
    }
    at += character.bytes == 0 ? 1 : static_cast<size_t>(character.bytes);
  }
  return out;
}

int named_byte(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return -1;
  int byte = -1;
  const char* end = text.data() + 5;
  return std::from_chars(text.data() + 3, end, byte, 16).ptr == end ? byte : -1;
}

}  // namespace psm::nn
