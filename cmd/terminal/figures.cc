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
  std::vector<size_t> kept;
  for (size_t c = 0; c < headings.size(); ++c)
    if (std::ranges::any_of(lines, [&](const auto& line) { return !line[c].empty(); })) kept.push_back(c);
  const auto filled = [&](const std::vector<std::string>& cells) {
    std::vector<std::string> out;
    for (const size_t c : kept) out.push_back(cells[c]);
    return out;
  };
  Table table(filled(headings), words_);
  for (const std::vector<std::string>& line : lines) table.row(filled(line));
  return table;
}

Facts Figures::facts() const {
  Facts all;
  for (const Row& row : rows_) all.insert(all.end(), row.cells_.begin(), row.cells_.end());
  return all;
}

std::string Figures::lines() const {
  size_t width = 0;
  for (const auto& [heading, text] : facts()) width = std::max(width, heading.size());
  std::string out;
  for (const auto& [heading, text] : facts())
    out += "  " + heading + std::string(width - heading.size() + 2, ' ') + text + "\n";
  return out;
}

Json Figures::json() const {
  Json array = Json(Json::Array{});
  for (const Row& row : rows_)
    if (!row.object_.object("a row").empty()) array.push_back(row.object_);
  return array;
}

Json Figures::object() const {
  Json all;
  for (const Row& row : rows_)
    for (const auto& [key, value] : row.object_.object("a row")) all[key] = value;
  return all;
}

}  // namespace psm::cmd
