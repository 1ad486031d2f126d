#include "cmd/study/result.h"

#include <cmath>

#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"

namespace psm::cmd {
namespace {

StudyResult sample_result() {
  StudyResult result;
  result.note("a < b");
  SvgPanel panel;
  panel.title = "curve & curve";
  panel.y_log = true;
  panel.line("f", {{0, 1}, {1, std::nan("")}, {2, 3}});
  result.plot(panel);
  Table table({"model", "ours", "paper"});
  table.row({"softmax", "1.5", "21.18"});
  result.table("figures", table);
  result.images("maps", {{"p = 4"}, {{"layer 0", {bitmap_of_weights({0, 1, 0.25, 0}, 2)}}}});
  return result;
}

TEST_CASE("a result's curves and tables are there for machines, a gap in a curve as null") {
  const Json items = parse_json(sample_result().json().dump(), "result");
  const Json::Array& array = items.array("items");
  REQUIRE(array.size() == 3);
  CHECK(array[1].at("title", "plot").string("title") == "curve & curve");
  CHECK(array[1].at("y_log", "plot").truth("y_log"));
  const Json::Array& lines = array[1].at("lines", "plot").array("lines");
  REQUIRE(lines.size() == 1);
  const Json::Array& points = lines[0].at("points", "line").array("points");
  CHECK(points[2].array("point")[1].number("y") == 3);
  CHECK(points[1].array("point")[1].is_null());
  CHECK(array[2].at("rows", "table").array("rows")[1].array("row")[2].string("cell") == "21.18");
}

TEST_CASE("HTML has every item, and no text becomes a tag") {
  const StudyResult result = sample_result();
  const std::string& html = result.html();
  CHECK(count(html, "<svg") == 1);
  CHECK(count(html, "class=\"wide\"") == 3);
  CHECK(count(html, "<img") == 1);
  CHECK(count(html, "data:image/bmp,%42%4d%") == 1);
  CHECK(count(html, "<td>21.18</td>") == 1);
  CHECK(contains(html, "a &lt; b"));
  CHECK_FALSE(contains(html, "nan"));
  CHECK(contains(result.text(), "21.18"));
}

TEST_CASE("a bitmap's size is in its header") {
  // 54 bytes of headers, 1,024 of palette, rows of 4: two pixels and two of padding.
  const std::string file = bitmap_of_weights({0, 1, 0.25, 0}, 2);
  CHECK(file.size() == 54 + 1024 + 8);
  CHECK(static_cast<unsigned char>(file[2]) + 256 * static_cast<unsigned char>(file[3]) == file.size());
  CHECK(file.substr(54 + 1024) == std::string("\xff\x00\x00\x00\x80\xff\x00\x00", 8));
}

}  // namespace
}  // namespace psm::cmd
