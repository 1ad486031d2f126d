#include "ckks/base/error.h"

#include <cstdio>
#include <cstdlib>

namespace psm {

std::string Error::one_line(std::string message) {
  constexpr size_t kLongest = 2000;
  if (message.size() > kLongest) message.replace(kLongest, std::string::npos, " ...");
  for (char& c : message) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return message;
}

void append(std::string& out, std::string_view text) { out += text; }
void append(std::string& out, char c) { out += c; }
void append(std::string& out, int value) { out += std::to_string(value); }
void append(std::string& out, double value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", value);
  out += digits;
}

void check_failed(const char* condition, const char* file, int line, const std::string& values) {
  std::fprintf(stderr, "%s:%d: invariant broken: %s %s\n", file, line, condition, values.c_str());
  std::abort();
}

}  // namespace psm
