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
  for (std::vector<std::string>& line : lines) line.resize(headings.size());
  std::vector<bool> kept(headings.size(), false);
  for (const std::vector<std::string>& line : lines)
    for (size_t c = 0; c < line.size(); ++c) kept[c] = kept[c] || !line[c].empty();
  const auto filled = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> out;
    for (size_t c = 0; c < cells.size(); ++c)
      if (kept[c]) out.push_back(cells[c]);
    return out;
  };
  Table table(filled(headings));
  for (const std::vector<std::string>& line : lines) table.row(filled(line));
  return table;
}

std::string Figures::lines() const {
  size_t width = 0;
  for (const Row& row : rows_)
    for (const auto& [heading, text] : row.cells_) width = std::max(width, heading.size());
  std::string out;
  for (const Row& row : rows_)
    for (const auto& [heading, text] : row.cells_)
      out += "  " + heading + std::string(width - heading.size() + 2, ' ') + text + "\n";
  return out;
}

Json Figures::json() const {
  Json array = Json(Json::Array{});
  for (const Row& row : rows_)
    if (!row.object_.object("a row").empty()) array.push_back(row.object_);
  return array;
}

}  // namespace psm::cmd
