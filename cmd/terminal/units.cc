#include "cmd/terminal/units.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "ckks/base/files/utf8.h"

namespace psm::cmd {
namespace {

// Bytes of the character that begins the text; 0 if there is none, or if nobody sees it: controls, and what changes the
// direction of the text or has no width.
size_t visible_bytes(std::string_view text) {
  const auto [code, bytes] = utf8_at(text, 0);
  const auto within = [code = code](char32_t lo, char32_t hi) { return code >= lo && code <= hi; };
  const bool unseen = code < 0x20 || within(0x7f, 0x9f) || code == 0xad || code == 0x61c ||
                      within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) ||
                      code == 0xfeff || within(0xe0000, 0xe0fff);
  return unseen ? 0 : static_cast<size_t>(bytes);
}

}  // namespace

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

std::string counted(size_t count, const char* noun) {
  return message(count, " ", noun, count == 1 ? "" : "s");
}

std::string percent(double fraction) { return format("%.1f%%", 100 * fraction); }

std::string range_text(double lo, double hi) {
  return "[" + format("%.4g", lo) + ", " + format("%.4g", hi) + "]";
}

std::string power_of_two_text(double value) { return value > 0 ? format("2^%.1f", std::log2(value)) : "0"; }

std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return format("%.2f GB", bytes / 1e9);
  if (bytes >= 1e6) return format("%.1f MB", bytes / 1e6);
  if (bytes >= 1e3) return format("%.1f kB", bytes / 1e3);
  return format("%.0f B", bytes);
}

std::string seconds_text(double seconds) {
  if (seconds > 0 && seconds < 0.9995e-3) return format("%.3g us", 1e6 * seconds);
  if (seconds < 1) return format(seconds > 0 && seconds < 0.00995 ? "%.1f ms" : "%.0f ms", 1e3 * seconds);
  if (seconds < 59.995) return format("%.2f s", seconds);
  const double whole = std::round(seconds), minutes = std::floor(whole / 60);
  return format("%.0f min ", minutes) + format("%.0f s", whole - 60 * minutes);
}

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t bytes = visible_bytes(text);
    out += bytes > 0 ? std::string(text.substr(0, bytes)) : "\\x" + hex(text.data(), 1);
    text.remove_prefix(std::max<size_t>(bytes, 1));
  }
  return out;
}

}  // namespace psm::cmd
