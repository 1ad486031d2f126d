// The results of an experiment of //cmd:study: notes, curves, tables and pictures, in reading order. Each is
// given once and kept in three forms: for machines,
//
//     {"kind": "note",   "text"}
//     {"kind": "plot",   "title", "x", "y", "x_log", "y_log", "lines": [{"name", "points": [[x, y] ..]}]}
//     {"kind": "table",  "title", "rows": [[cell ..] ..]}           the first row is the heading
//
// for a page, pictures too, and as text for a terminal. Not thread-safe.
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

// A table of pictures: a row has one picture for each column.
struct ImageGrid {
  struct Row {
    std::string name;
    std::vector<std::string> images;  // files of heat_map.h
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

class StudyResult {
 public:
  void note(const std::string& text);
  void plot(const SvgPanel& panel);
  void table(const std::string& title, const Table& table);
  void images(const std::string& title, const ImageGrid& grid);

  const Json& json() const { return items_; }
  const std::string& html() const { return html_; }
  const std::string& text() const { return text_; }

 private:
  Json items_ = Json(Json::Array{});
  std::string html_, text_;
  PlotColours colours_;  // a model has its own in all plots
};

}  // namespace psm::cmd
