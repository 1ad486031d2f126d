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

std::string Table::text() const {
  std::vector<size_t> width(rows_[0].size(), 0);
  for (const auto& row : rows_) {
    for (size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  const size_t whole = std::accumulate(width.begin(), width.end(), 2 * (width.size() - 1));
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t c = 0; c < width.size(); ++c) {
      const std::string pad(width[c] - row[c].size(), ' ');
      line += "  " + (left_[c] ? row[c] + pad : pad + row[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    if (&row == &rows_.front()) out += "  " + std::string(whole, '-') + "\n";
  }
  return out;
}

}  // namespace psm::cmd
