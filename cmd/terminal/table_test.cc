#include "cmd/terminal/table.h"

#include "cmd/terminal/figures.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("columns are aligned under an underlined heading") {
  Table table({"name", "value"});
  table.row({"a", "1"});
  table.row({"longer", "1000"});
  CHECK(table.text() == "  name    value\n  -------------\n  a           1\n  longer   1000\n");
}

TEST_CASE("bytes and seconds are written with fitting units") {
  CHECK(bytes_text(5.87e9) == "5.87 GB");
  CHECK(bytes_text(12) == "12 B");
  CHECK(seconds_text(0.043) == "43 ms");
  CHECK(seconds_text(0.0043) == "4.3 ms");
  CHECK(seconds_text(3.5e-5) == "35 us");
  CHECK(seconds_text(0) == "0 ms");
  CHECK(seconds_text(1.236) == "1.24 s");
  CHECK(seconds_text(200) == "3 min 20 s");
  CHECK(seconds_text(59.999) == "1 min 0 s");
  CHECK(seconds_text(119.7) == "2 min 0 s");
  CHECK(counted(1, "prompt") == "1 prompt");
  CHECK(counted(0, "prompt") == "0 prompts");
  CHECK(percent(0.9734) == "97.3%");
}

TEST_CASE("figures said once are a table and JSON, and rows may lack what others have") {
  Figures figures;
  figures.row()
      .both("name", "name", "a")
      .json("lo", 0.5)
      .cell("interval", "[0.5, 1]")
      .cell("", "x")
      .cell("", "y");
  figures.row().both("name", "name", "b").both("levels", "levels", 3).cell("never filled", "");
  CHECK(figures.table().rows() ==
        std::vector<std::vector<std::string>>{
            {"name", "interval", "", "", "levels"}, {"a", "[0.5, 1]", "x", "y", ""}, {"b", "", "", "", "3"}});
  const Json json = figures.json();
  REQUIRE(json.array("rows").size() == 2);
  CHECK(json.array("rows")[0].at("lo", "row").number("lo") == 0.5);
  CHECK(json.array("rows")[1].at("levels", "row").integer("levels", 0, 9) == 3);
  CHECK(json.array("rows")[1].find("lo") == nullptr);
}

TEST_CASE("numbers that are not known are empty, rows are one object, and words begin at the left") {
  Figures figures({"what"});
  figures.row()
      .number("seconds", "seconds", 0.25, seconds_text)
      .number("share", "share", std::nullopt, "%.2f");
  figures.row().both("count", "count", 3, "three").cell("what", "a").cell("more", "");
  CHECK(figures.object().dump(0) == "{\"seconds\":0.25,\"share\":null,\"count\":3}");
  CHECK(figures.lines() == "  seconds  250 ms\n  share    \n  count    three\n  what     a\n  more     \n");
  CHECK(figures.table().left(2));
  CHECK_FALSE(figures.table().left(1));
}

TEST_CASE("without rows there is an empty array") { CHECK(Figures().json().dump(0) == "[]"); }

}  // namespace
}  // namespace psm::cmd
