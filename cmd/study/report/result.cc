#include "cmd/study/report/result.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/files/hex.h"

namespace psm::cmd {
namespace {

constexpr int kLargestImage = 4096;

// JSON has no other numbers than finite ones; null is a gap in a line.
Json number_or_null(double value) { return std::isfinite(value) ? Json(value) : Json(); }

GreyImage image_from(const Json& json, const std::string& what) {
  GreyImage image;
  image.width = static_cast<int>(json.at("width", what).integer(what + ": width", 1, kLargestImage));
  image.height = static_cast<int>(json.at("height", what).integer(what + ": height", 1, kLargestImage));
  const std::string& text = json.at("pixels", what).string(what + ": pixels");
  const std::optional<std::string> bytes = from_hex(text);
  if (!bytes || bytes->size() != static_cast<size_t>(image.width) * image.height)
    throw Error(message(what, ": a picture's pixels are not two hexadecimal digits for each of ", image.width,
                        " x ", image.height, "; delete the file and run the experiment again"));
  image.pixels.assign(bytes->begin(), bytes->end());
  return image;
}

}  // namespace

GreyImage image_of_weights(const std::vector<double>& values, int size) {
  PSM_CHECK(size >= 1 && values.size() == static_cast<size_t>(size) * size, values.size(), " ", size);
  GreyImage image{size, size, std::vector<uint8_t>(values.size())};
  const double largest = *std::max_element(values.begin(), values.end());
  for (size_t i = 0; i < values.size(); ++i) {
    const double ink = largest > 0 ? std::sqrt(std::clamp(values[i] / largest, 0.0, 1.0)) : 0.0;
    image.pixels[i] = static_cast<uint8_t>(std::lround(255 * (1 - ink)));
  }
  return image;
}

void StudyResult::note(const std::string& text) {
  Json item;
  item["kind"] = "note";
  item["text"] = text;
  items_.push_back(std::move(item));
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
  item["levels"] = Json::Array{};
  for (const auto& [name, y] : panel.levels)
    item["levels"].push_back(Json::Object{{"name", name}, {"y", number_or_null(y)}});
  items_.push_back(std::move(item));
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
}

void StudyResult::images(const std::string& title, const ImageGrid& grid) {
  Json item;
  item["kind"] = "images";
  item["title"] = title;
  item["columns"] = Json::Array{};
  for (const std::string& column : grid.columns) item["columns"].push_back(column);
  item["rows"] = Json::Array{};
  for (const ImageGrid::Row& row : grid.rows) {
    PSM_CHECK(row.images.size() == grid.columns.size(), row.images.size(), " ", grid.columns.size());
    Json images = Json(Json::Array{});
    for (const GreyImage& image : row.images)
      images.push_back(Json::Object{{"width", image.width},
                                    {"height", image.height},
                                    {"pixels", hex(image.pixels.data(), image.pixels.size())}});
    item["rows"].push_back(Json::Object{{"name", row.name}, {"images", std::move(images)}});
  }
  items_.push_back(std::move(item));
}

SvgPanel plot_from(const Json& item, const std::string& what) {
  SvgPanel panel;
  panel.title = item.at("title", what).string(what + ": title");
  panel.x_label = item.at("x", what).string(what + ": x");
  panel.y_label = item.at("y", what).string(what + ": y");
  panel.x_log = item.at("x_log", what).truth(what + ": x_log");
  panel.y_log = item.at("y_log", what).truth(what + ": y_log");
  const auto coordinate = [&](const Json& json) {
    return json.is_null() ? std::nan("") : json.number(what + ": a point");
  };
  for (const Json& line : item.at("lines", what).array(what + ": lines")) {
    PlotPoints points;
    for (const Json& point : line.at("points", what).array(what + ": points")) {
      const Json::Array& pair = point.array(what + ": a point");
      if (pair.size() != 2)
        throw Error(message(what, ": a point of a plot is not a pair; run the experiment again"));
      points.emplace_back(coordinate(pair[0]), coordinate(pair[1]));
    }
    panel.line(line.at("name", what).string(what + ": name"), std::move(points));
  }
  for (const Json& level : item.at("levels", what).array(what + ": levels"))
    panel.level(level.at("name", what).string(what + ": name"), coordinate(level.at("y", what)));
  return panel;
}

Table table_from(const Json& item, const std::string& what) {
  std::vector<std::vector<std::string>> rows;
  for (const Json& row : item.at("rows", what).array(what + ": rows")) {
    rows.emplace_back();
    for (const Json& cell : row.array(what + ": a row"))
      rows.back().push_back(cell.string(what + ": a cell"));
    if (rows.back().size() != rows[0].size())
      throw Error(message(what, ": the rows of a table are not equally long; run the experiment again"));
  }
  if (rows.empty()) throw Error(message(what, ": a table has no rows; run the experiment again"));
  Table table(std::move(rows[0]));
  for (size_t r = 1; r < rows.size(); ++r) table.row(std::move(rows[r]));
  return table;
}

ImageGrid images_from(const Json& item, const std::string& what) {
  ImageGrid grid;
  for (const Json& column : item.at("columns", what).array(what + ": columns"))
    grid.columns.push_back(column.string(what + ": a column"));
  for (const Json& row : item.at("rows", what).array(what + ": rows")) {
    ImageGrid::Row& out = grid.rows.emplace_back();
    out.name = row.at("name", what).string(what + ": name");
    for (const Json& image : row.at("images", what).array(what + ": images"))
      out.images.push_back(image_from(image, what));
    if (out.images.size() != grid.columns.size())
      throw Error(message(what, ": a row has ", out.images.size(), " pictures for ", grid.columns.size(),
                          " columns; run the experiment again"));
  }
  return grid;
}

}  // namespace psm::cmd
