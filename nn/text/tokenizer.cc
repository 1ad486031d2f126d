#include "nn/text/tokenizer.h"

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

}  // namespace psm::nn
