#include "cmd/terminal/figures.h"

#include <algorithm>

namespace psm::cmd {

Table Figures::table() const {
  std::vector<std::string> headings;
  std::vector<std::vector<std::string>> lines;
  for (const Row& row : rows_) {
    std::vector<bool> taken(headings.size(), false);
    std::vector<std::string>& line = lines.emplace_back(headings.size());
    for (const auto& [heading, text] : row.cells_) {
      size_t column = 0;
      while (column < headings.size() && (taken[column] || headings[column] != heading)) ++column;
      if (column == headings.size()) {
        headings.push_back(heading);
        taken.push_back(false);
        line.emplace_back();
      }
      taken[column] = true;
      line[column] = text;
    }
  }
  Table table(headings);
  for (std::vector<std::string>& line : lines) {
    line.resize(headings.size());
    table.row(std::move(line));
  }
  return table;
}

Json Figures::json() const {
  Json array = Json(Json::Array{});
  for (const Row& row : rows_)
    if (!row.object_.object("a row").empty()) array.push_back(row.object_);
  return array;
}

}  // namespace psm::cmd
