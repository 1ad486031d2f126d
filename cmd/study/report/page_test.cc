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

Json document(Json items, bool finished = true) {
  Json json;
  for (const char* member : {"name", "title", "paper", "scaled_down", "command", "commit", "processor"})
    json[member] = std::string("<") + member + ">";
  json["threads"] = 2;
  json["seeds"] = 3;
  json["seconds"] = 61.5;
  json["finished"] = finished;
  json["items"] = std::move(items);
  return json;
}

TEST_CASE("a result comes back from its JSON text as it was") {
  const Json items = parse_json(sample_result().json().dump(), "result");
  const Json::Array& array = items.array("items");
  REQUIRE(array.size() == 4);
  const SvgPanel panel = plot_from(array[1], "plot");
  CHECK(panel.title == "curve & curve");
  CHECK(panel.y_log);
  REQUIRE(panel.lines.size() == 1);
  CHECK(panel.lines[0].points[2] == std::pair<double, double>(2, 3));
  CHECK(std::isnan(panel.lines[0].points[1].second));
  CHECK(panel.levels[0].first == "bound");
  CHECK(table_from(array[2], "table").rows()[1][2] == "21.18");
  const ImageGrid grid = images_from(array[3], "images");
  CHECK(grid.rows[0].images[0].pixels == std::vector<uint8_t>{255, 0, 128, 255});
}

TEST_CASE("a page has every item of every section, and no text becomes a tag") {
  const std::string section = study_section(document(sample_result().json()), "x.json");
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
  const std::string section = study_section(document(Json(Json::Array{}), false), "x.json");
  CHECK(section.find("Not finished") != std::string::npos);
  CHECK(section.find("<table") == std::string::npos);
}

TEST_CASE("a damaged result is refused with its name") {
  const auto refused = [](Json items) {
    CHECK_THROWS_WITH_AS(study_section(document(std::move(items)), "x.json"), doctest::Contains("x.json"),
                         Error);
  };
  refused("text");
  const auto changed = [](const char* kind, const char* member, Json value) {
    Json items = sample_result().json();
    Json out = Json(Json::Array{});
    for (Json item : items.array("items")) {
      if (item.at("kind", "item").string("kind") == kind) item[member] = value;
      out.push_back(std::move(item));
    }
    return out;
  };
  refused(changed("plot", "kind", "film"));
  refused(changed("plot", "lines", Json::Array{Json::Object{{"name", "f"}, {"points", Json::Array{1}}}}));
  refused(changed("table", "rows", Json::Array{}));
  refused(changed("table", "rows", Json::Array{Json::Array{"a"}, Json::Array{"b", "c"}}));
  for (const char* pixels : {"00", "0000000g", "000000000"})
    refused(changed(
        "images", "rows",
        Json::Array{Json::Object{
            {"name", "layer 0"},
            {"images", Json::Array{Json::Object{{"width", 2}, {"height", 2}, {"pixels", pixels}}}}}}));
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
