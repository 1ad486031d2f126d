#include "ckks/base/files/utf8.h"

#include "ckks/base/files/hex.h"

namespace psm {

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto [code, bytes] = utf8_at(text, 0);
    const auto within = [code = code](char32_t lo, char32_t hi) { return code >= lo && code <= hi; };
    // Controls, and what changes the direction of the text or has no width.
    const bool unseen = bytes == 0 || code < 0x20 || within(0x7f, 0x9f) || code == 0xad || code == 0x61c ||
                        within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) ||
                        code == 0xfeff || within(0xe0000, 0xe0fff);
    const size_t taken = unseen ? 1 : static_cast<size_t>(bytes);
    out += code == '\n'   ? "\\n"
           : code == '\t' ? "\\t"
           : unseen       ? "\\x" + hex(text.data(), 1)
                          : std::string(text.substr(0, taken));
    text.remove_prefix(taken);
  }
  return out;
}

}  // namespace psm
