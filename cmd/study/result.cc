#include "cmd/study/result.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"
#include "cmd/terminal/html.h"

namespace psm::cmd {
namespace {

constexpr uint32_t kFileHeader = 14, kInfoHeader = 40, kPalette = 4 * 256;

void append(std::string& out, uint32_t value, int bytes = 4) {
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
}

}  // namespace

void StudyResult::note(const std::string& text) {
  items_.push_back(Json::Object{{"kind", "note"}, {"text", text}});
  html_ += html_tagged("p", text) + "\n";
  text_ += text + "\n";
}

void StudyResult::plot(const SvgPanel& panel) {
  Json::Array lines;
  for (const SvgPanel::Line& line : panel.lines) {
    Json::Array points;
    for (const auto& [x, y] : line.points) points.push_back(Json::Array{x, y});
    lines.push_back(Json::Object{{"name", line.name}, {"points", std::move(points)}});
  }
  items_.push_back(Json::Object{{"kind", "plot"},
                                {"title", panel.title},
                                {"x", panel.x_label},
                                {"y", panel.y_label},
                                {"x_log", panel.x_log},
                                {"y_log", panel.y_log},
                                {"lines", std::move(lines)}});
  SvgFigure figure(panel.title, &colours_);
  SvgPanel& drawn = figure.panel("", panel.x_label, panel.y_label);
  drawn = panel;
  drawn.title.clear();  // the figure's
  html_ += html_wide(panel.title, figure.text());
}

void StudyResult::table(const std::string& title, const Table& table) {
  Json::Array rows;
  for (const std::vector<std::string>& row : table.rows())
    rows.push_back(Json::Array(row.begin(), row.end()));
  items_.push_back(Json::Object{{"kind", "table"}, {"title", title}, {"rows", std::move(rows)}});
  html_ += html_of(table, title);
  text_ += title + "\n" + table.text() + "\n";
}

void StudyResult::images(const std::string& title, const ImageGrid& grid) {
  std::string out = "<table class=\"maps\">" + html_tagged("caption", title) + "\n<tr><th></th>";
  for (const std::string& column : grid.columns) out += html_tagged("th", column);
  out += "</tr>\n";
  for (const ImageGrid::Row& row : grid.rows) {
    PSM_CHECK(row.images.size() == grid.columns.size(), row.images.size(), " ", grid.columns.size());
    out += "<tr>" + html_tagged("th", row.name);
    for (size_t c = 0; c < row.images.size(); ++c) {
      out += "<td><img alt=\"" + xml_escape(row.name + ", " + grid.columns[c]) + "\" src=\"data:image/bmp,";
      for (const char& byte : row.images[c]) out += "%" + hex(&byte, 1);
      out += "\"></td>";
    }
    out += "</tr>\n";
  }
  html_ += html_wide(title, out + "</table>");
}

std::string bitmap_of_weights(const std::vector<double>& values, int size) {
  PSM_CHECK(size >= 1 && values.size() == static_cast<size_t>(size) * size, values.size(), " ", size);
  const auto side = static_cast<uint32_t>(size), padding = (4 - side % 4) % 4;
  const uint32_t pixels = (side + padding) * side, begin = kFileHeader + kInfoHeader + kPalette;
  std::string file = "BM";
  for (const uint32_t field : {begin + pixels, 0u, begin, kInfoHeader, side, 0 - side}) append(file, field);
  append(file, 1, 2);  // planes; the height is negative: rows from the top
  append(file, 8, 2);  // bits a pixel
  // No compression, bytes of pixels, no resolution, 256 colours, all of them important.
  for (const uint32_t field : {0u, pixels, 0u, 0u, 256u, 0u}) append(file, field);
  for (uint32_t grey = 0; grey < 256; ++grey) append(file, grey * 0x010101);
  const double largest = *std::max_element(values.begin(), values.end());
  for (uint32_t y = 0; y < side; ++y) {
    for (uint32_t x = 0; x < side; ++x) {
      const double share = largest > 0 ? std::clamp(values[y * side + x] / largest, 0.0, 1.0) : 0;
      append(file, static_cast<uint32_t>(std::lround(255 * (1 - std::sqrt(share)))), 1);
    }
    file.append(padding, '\0');
  }
  return file;
}

}  // namespace psm::cmd
