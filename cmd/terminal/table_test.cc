#include "cmd/terminal/table.h"

#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

TEST_CASE("columns are aligned under an underlined heading") {
  Table table({"name", "value"});
  table.row({"a", "1"});
  table.row({"longer", "1000"});
  CHECK(table.text(0) == "name    value\n-------------\na           1\nlonger   1000\n");
}

TEST_CASE("what is wider than the terminal is lines of heading and cell") {
  Table table({"name", "value", "more"});
  table.row({"a", "1", ""});
  table.row({"longer", "1000", "x"});
  CHECK(table.text(2, 21) == table.text(2, std::nullopt));
  CHECK(table.text(2, 20) == "  a\n    value: 1\n  longer\n    value: 1000\n    more: x\n");
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

}  // namespace
}  // namespace psm::cmd
