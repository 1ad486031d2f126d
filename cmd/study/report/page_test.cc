#include "cmd/study/report/page.h"

#include <cmath>

#include "ckks/base/error.h"
#include "ckks/base/testing/text.h"
#include "cmd/study/report/heat_map.h"
#include "cmd/study/report/result.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

StudyResult sample_result() {
  StudyResult result;
  result.note("a < b");
  SvgPanel panel;
  panel.title = "curve & curve";
  panel.y_log = true;
  panel.line("f", {{0, 1}, {1, std::nan("")}, {2, 3}});
  panel.level("bound", 2);
  result.plot(panel);
  Table table({"model", "ours", "paper"});
  table.row({"softmax", "1.5", "21.18"});
  result.table("figures", table);
  result.images("maps", {{"p = 4"}, {{"layer 0", {image_of_weights({0, 1, 0.25, 0}, 2)}}}});
  return result;
}

Json document(const StudyResult& result, bool finished = true) {
  Json json;
  for (const char* member : {"name", "title", "paper", "scaled_down", "command", "commit", "processor"})
    json[member] = std::string("<") + member + ">";
  json["threads"] = 2;
  json["seeds"] = 3;
  json["seconds"] = 61.5;
  json["finished"] = finished;
  json["items"] = result.json();
  json["html"] = result.html();
  return json;
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
  CHECK(array[1].at("levels", "plot").array("levels")[0].at("name", "level").string("name") == "bound");
  CHECK(array[2].at("rows", "table").array("rows")[1].array("row")[2].string("cell") == "21.18");
  CHECK(image_of_weights({0, 1, 0.25, 0}, 2).pixels == std::vector<uint8_t>{255, 0, 128, 255});
}

TEST_CASE("a page has every item of every section, and no text becomes a tag") {
  const std::string section = study_section(document(sample_result()), "x.json");
  const std::string page = study_page({{"one", section}, {"two", section}});
  CHECK(count(page, "<section") == 2);
  CHECK(count(page, "<svg") == 2);
  CHECK(count(page, "class=\"wide\"") == 6);
  CHECK(count(page, "<img") == 2);
  CHECK(count(page, "data:image/bmp;base64,Qk0") == 2);
  CHECK(count(page, "<td>21.18</td>") == 2);
  CHECK(page.find("a &lt; b") != std::string::npos);
  CHECK(page.find("<processor>") == std::string::npos);
  CHECK(page.find("&lt;processor&gt;") != std::string::npos);
  CHECK(page.find("nan") == std::string::npos);
}

TEST_CASE("an unfinished experiment says so and shows no figures") {
  const std::string section = study_section(document(sample_result(), false), "x.json");
  CHECK(section.find("Not finished") != std::string::npos);
  CHECK(section.find("<table") == std::string::npos);
}

TEST_CASE("a damaged result is refused with its name") {
  for (const char* member : {"html", "title", "finished", "seconds"}) {
    Json damaged = document(sample_result());
    damaged[member] = Json(Json::Array{});
    CHECK_THROWS_WITH_AS(study_section(damaged, "x.json"), doctest::Contains("x.json"), Error);
  }
}

TEST_CASE("base64 is that of RFC 4648, and a bitmap's size is in its header") {
  CHECK(base64("") == "");
  CHECK(base64("f") == "Zg==");
  CHECK(base64("fo") == "Zm8=");
  CHECK(base64("foo") == "Zm9v");
  CHECK(base64("foobar") == "Zm9vYmFy");
  // 54 bytes of headers, 1,024 of palette, rows of 4: three pixels and one of padding.
  const std::string uri = bitmap_uri({3, 2, {0, 1, 2, 3, 4, 5}});
  CHECK(uri.size() == std::string("data:image/bmp;base64,").size() + (54 + 1024 + 8 + 2) / 3 * 4);
}

}  // namespace
}  // namespace psm::cmd
