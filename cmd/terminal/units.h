// Figures and names for people.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>

#include "ckks/base/error.h"

namespace psm::cmd {

// By a pattern of printf with one double.
inline std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// "1 prompt", "16 prompts".
inline std::string counted(size_t count, const char* noun) {
  return message(count, " ", noun, count == 1 ? "" : "s");
}

// "97.3%", "[0.2, 125]", and "2^-12.5", or "0" of what is not positive.
inline std::string percent(double fraction) { return format("%.1f%%", 100 * fraction); }
inline std::string range_text(double lo, double hi, const char* pattern = "%.4g") {
  return "[" + format(pattern, lo) + ", " + format(pattern, hi) + "]";
}
inline std::string power_of_two_text(double value) {
  return value > 0 ? format("2^%.1f", std::log2(value)) : "0";
}

// "5.87 GB" (10^9).
inline std::string bytes_text(double bytes) {
  if (bytes >= 1e9) return format("%.2f GB", bytes / 1e9);
  if (bytes >= 1e6) return format("%.1f MB", bytes / 1e6);
  if (bytes >= 1e3) return format("%.1f kB", bytes / 1e3);
  return format("%.0f B", bytes);
}

// "35 us", "1.2 ms", "43 ms", "1.24 s", "3 min 20 s".
inline std::string seconds_text(double seconds) {
  if (seconds > 0 && seconds < 0.9995e-3) return format("%.3g us", 1e6 * seconds);
  if (seconds < 1) return format(seconds > 0 && seconds < 0.00995 ? "%.1f ms" : "%.0f ms", 1e3 * seconds);
  if (seconds < 59.995) return format("%.2f s", seconds);
  const double whole = std::round(seconds), minutes = std::floor(whole / 60);
  return format("%.0f min ", minutes) + format("%.0f s", whole - 60 * minutes);
}

// Prints its arguments to the standard output, joined as message() joins them, at once.
template <typename... Parts>
void print(const Parts&... parts) {
  const std::string text = message(parts...);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace psm::cmd
