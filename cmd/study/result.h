// The results of an experiment of //cmd:study: notes, curves, tables and pictures, in reading order. Each is
// given once and kept in three forms: for machines,
//
//     {"kind": "note",   "text"}
//     {"kind": "plot",   "title", "x", "y", "x_log", "y_log", "lines": [{"name", "points": [[x, y] ..]}]}
//                                                                 null: not finite, a gap in the line
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
    std::vector<std::string> images;  // of bitmap_of_weights()
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

// Returns a square grey picture for pages that carry their pictures with them: an uncompressed bitmap (BMP, 8 bits a
// pixel with a palette of greys), which every browser shows. There are size * size entries, none negative: 0 is
// white and the largest is black. The square root lies between, so that a hundredth of the largest is still seen.
std::string bitmap_of_weights(const std::vector<double>& values, int size);

}  // namespace psm::cmd
