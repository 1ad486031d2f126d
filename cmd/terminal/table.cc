#include "cmd/terminal/table.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "ckks/base/error.h"

namespace psm::cmd {

Table::Table(std::vector<std::string> heading, const std::vector<std::string>& words) {
  for (const std::string& name : heading)
    left_.push_back(left_.empty() || std::ranges::find(words, name) != words.end());
  rows_.push_back(std::move(heading));
}

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
      line += left_[c] ? rows_[r][c] + pad : pad + rows_[r][c];
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

}  // namespace psm::cmd
