#include "cmd/terminal/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "ckks/base/error.h"

namespace psm::cmd {

Table::Table(std::vector<std::string> heading) { rows_.push_back(std::move(heading)); }

void Table::row(std::vector<std::string> cells) {
  PSM_CHECK(cells.size() == rows_[0].size(), cells.size(), " ", rows_[0].size());
  rows_.push_back(std::move(cells));
}

std::string Table::text(int indent, std::optional<size_t> columns) const {
  std::vector<size_t> width(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string out;
  const size_t line =
      std::accumulate(width.begin(), width.end(), static_cast<size_t>(indent) + 2 * (width.size() - 1));
  if (columns && line > *columns) {
    const std::string spaces(static_cast<size_t>(indent), ' ');
    for (size_t r = 1; r < rows_.size(); ++r) {
      out += spaces + rows_[r][0] + "\n";
      for (size_t c = 1; c < width.size(); ++c) {
        if (!rows_[r][c].empty()) out += spaces + "  " + rows_[0][c] + ": " + rows_[r][c] + "\n";
      }
    }
    return out;
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t c = 0; c < width.size(); ++c) {
      const std::string pad(width[c] - rows_[r][c].size(), ' ');
      if (c > 0) line += "  ";
      line += c == 0 ? rows_[r][c] + pad : pad + rows_[r][c];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (r == 0) {
      std::string rule(static_cast<size_t>(indent), ' ');
      for (size_t c = 0; c < width.size(); ++c) rule += std::string(width[c] + (c > 0 ? 2 : 0), '-');
      out += rule + "\n";
    }
  }
  return out;
}

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
  if (seconds < 1) return format("%.0f ms", 1e3 * seconds);
  if (seconds < 59.995) return format("%.2f s", seconds);
  const double whole = std::round(seconds), minutes = std::floor(whole / 60);
  return format("%.0f min ", minutes) + format("%.0f s", whole - 60 * minutes);
}

}  // namespace psm::cmd
