// What an experiment of //cmd:study found, as data: notes, curves, tables and pictures, in the order in which
// they are read. Experiments fill it and know nothing of pages; the page (page.h) is made from its JSON
// alone.
//
//     {"kind": "note",   "text"}
//     {"kind": "plot",   "title", "x", "y", "x_log", "y_log", "lines": [{"name", "points": [[x, y] ..]}],
//                        "levels": [{"name", "y"}]}
//     {"kind": "table",  "title", "rows": [[cell ..] ..]}           the first row is the heading
//     {"kind": "images", "title", "columns": [..], "rows": [{"name", "images": [{"width", "height",
//     "pixels"}]}]}
//
// Pixels are grey values, two hexadecimal digits each, row by row from the top: 00 black, ff white. What
// reads them throws psm::Error that begins with `what` where the JSON is none of these. Not thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "cmd/terminal/svg_plot.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

struct GreyImage {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;  // [height][width]
};

// A table of pictures: a row has one for each column.
struct ImageGrid {
  struct Row {
    std::string name;
    std::vector<GreyImage> images;
  };
  std::vector<std::string> columns;
  std::vector<Row> rows;
};

// Grey values of non-negative entries: 0 is white, the largest black, with a square root between, so that
// weights of a hundredth of the largest are still seen. `values` holds size * size entries.
GreyImage image_of_weights(const std::vector<double>& values, int size);

class StudyResult {
 public:
  void note(const std::string& text);
  void plot(const SvgPanel& panel);
  void table(const std::string& title, const Table& table);
  void images(const std::string& title, const ImageGrid& grid);

  const Json& json() const { return items_; }

 private:
  Json items_ = Json(Json::Array{});
};

SvgPanel plot_from(const Json& item, const std::string& what);
Table table_from(const Json& item, const std::string& what);
ImageGrid images_from(const Json& item, const std::string& what);

}  // namespace psm::cmd
