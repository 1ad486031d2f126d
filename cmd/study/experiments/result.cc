#include "cmd/study/experiments/result.h"

#include <cmath>
#include <utility>

#include "ckks/base/error.h"
#include "cmd/study/experiments/heat_map.h"
#include "cmd/terminal/html.h"

namespace psm::cmd {
namespace {

// JSON has no other numbers than finite ones; null is a gap in a line.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

}  // namespace

void StudyResult::note(const std::string& text) {
  Json item;
  item["kind"] = "note";
  item["text"] = text;
  items_.push_back(std::move(item));
  html_ += html_tagged("p", text) + "\n";
  text_ += text + "\n";
}

void StudyResult::plot(const SvgPanel& panel) {
  Json item;
  item["kind"] = "plot";
  item["title"] = panel.title;
  item["x"] = panel.x_label;
  item["y"] = panel.y_label;
  item["x_log"] = panel.x_log;
  item["y_log"] = panel.y_log;
  item["lines"] = Json::Array{};
  for (const SvgPanel::Line& line : panel.lines) {
    Json points = Json(Json::Array{});
    for (const auto& [x, y] : line.points)
      points.push_back(Json::Array{number_or_null(x), number_or_null(y)});
    item["lines"].push_back(Json::Object{{"name", line.name}, {"points", std::move(points)}});
  }
  items_.push_back(std::move(item));
  SvgFigure figure(panel.title, &colours_);
  SvgPanel& drawn = figure.panel("", panel.x_label, panel.y_label);
  drawn = panel;
  drawn.title.clear();  // the figure's
  html_ += html_wide(panel.title, figure.text());
}

void StudyResult::table(const std::string& title, const Table& table) {
  Json item;
  item["kind"] = "table";
  item["title"] = title;
  item["rows"] = Json::Array{};
  for (const std::vector<std::string>& row : table.rows()) {
    Json cells = Json(Json::Array{});
    for (const std::string& cell : row) cells.push_back(cell);
    item["rows"].push_back(std::move(cells));
  }
  items_.push_back(std::move(item));
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
    for (size_t c = 0; c < row.images.size(); ++c)
      out += "<td><img alt=\"" + xml_escape(row.name + ", " + grid.columns[c]) + "\" src=\"" +
             "data:image/bmp;base64," + base64(row.images[c]) + "\"></td>";
    out += "</tr>\n";
  }
  html_ += html_wide(title, out + "</table>");
}

}  // namespace psm::cmd
