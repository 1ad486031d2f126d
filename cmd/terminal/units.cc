#include "cmd/terminal/units.h"

#include <cmath>
#include <cstdio>

namespace psm::cmd {
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

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace psm::cmd
