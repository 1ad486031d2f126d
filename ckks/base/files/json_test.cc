#include <cmath>
#include <limits>

#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"

namespace psm {
namespace {

TEST_CASE("a value that was written is read back") {
  Json json;
  json["name"] = "a \"quoted\"\nline";
  json["count"] = int64_t{9007199254740993};
  json["ratio"] = 0.1;
  json["truth"] = true;
  json["nothing"] = Json();
  json["list"].push_back(1);
  json["list"].push_back("two");
  for (const int indent : {0, 2}) {
    const Json back = parse_json(json.dump(indent), "test");
    CHECK(back.at("name", "test").string("name") == "a \"quoted\"\nline");
    CHECK(back.at("count", "test").integer("count", 0, INT64_MAX) == 9007199254740993);
    CHECK(back.at("ratio", "test").number("ratio") == 0.1);
    CHECK(back.at("truth", "test").truth("truth"));
    CHECK(back.at("nothing", "test").is_null());
    CHECK(back.at("list", "test").array("list").size() == 2);
    CHECK(back.dump() == json.dump());
  }
}

TEST_CASE("a negative zero keeps its sign") {
  CHECK(std::signbit(parse_json(Json(-0.0).dump(), "test").number("zero")));
}

TEST_CASE("what no JSON number can say is written as null") {
  CHECK(Json(std::numeric_limits<double>::quiet_NaN()).dump() == "null");
  CHECK(Json(std::numeric_limits<double>::infinity()).dump() == "null");
}

TEST_CASE("escapes become UTF-8") {
  CHECK(parse_json(R"("\u00e9\ud83d\ude00")", "test").string("s") == "\xC3\xA9\xF0\x9F\x98\x80");
}

TEST_CASE("text that is not JSON is refused with its place") {
  for (const char* text : {"", "{", "[1,]", "{\"a\":1,}", "{\"a\":1,\"a\":2}", "01", "1.", "+1", "nul",
                           "\"\\x\"", "\"a", "\"\\ud800\"", "1 2", "{a:1}", "1e999", "\"\x01\""}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_json(text, "test"), Error);
  }
  CHECK_REFUSED(parse_json("{\"a\":1,\"a\":2}", "file.json"), "byte 0: a member stands twice");
  CHECK_REFUSED(parse_json("1e999", "file.json"), "byte 0: a number out of range");
  CHECK_THROWS_WITH_AS(parse_json("[1, x]", "file.json"),
                       "file.json: not valid JSON at byte 4: expected a value", Error);
}

TEST_CASE("a string that is not UTF-8 is refused as a key and as a value, and none is written") {
  for (const char* text : {"{\"a\xffz\": 1}", "{\"a\": \"\xc3\"}", "[\"\xed\xa0\x80\"]"}) {
    CAPTURE(text);
    CHECK_REFUSED(parse_json(text, "file.json"), "a string is not UTF-8");
  }
  CHECK_THROWS_WITH_AS(parse_json("{\"a\xffz\": 1}", "file.json"),
                       "file.json: not valid JSON at byte 3: a string is not UTF-8", Error);
  CHECK(Json("a\xff\xc3\xa9").dump() == "\"a\xef\xbf\xbd\xc3\xa9\"");
}

TEST_CASE("the beginning of a text ends early, wherever it is cut") {
  const std::string text = R"({"a": [true, false, null, -1.5e3, "\u00e9\ud83d\ude00)"
                           "\xc3\xa9\"]}";
  CHECK(parse_json(text, "file.json").is_object());
  for (size_t bytes = 0; bytes < text.size(); ++bytes) {
    CAPTURE(bytes);
    CHECK_REFUSED(parse_json(text.substr(0, bytes), "file.json"), "file.json ends early, after ");
  }
}

TEST_CASE("nesting, size and the number of values are limited") {
  CHECK_THROWS_AS(parse_json(std::string(100, '['), "test"), Error);
  CHECK_THROWS_AS(parse_json("[1,2,3]", "test", {.max_bytes = 3, .max_depth = 8}), Error);
  CHECK(parse_json("[1,{\"a\":3}]", "test", {.max_values = 4}).array("list").size() == 2);
  CHECK_REFUSED(parse_json("[1,{\"a\":3},4]", "test", {.max_values = 4}), "too many values");
}

TEST_CASE("a member of the wrong kind or range is named") {
  const Json json = parse_json(R"({"n": 70000, "s": "x"})", "test");
  CHECK_THROWS_WITH_AS(json.at("n", "header").integer("n", 0, 65535),
                       "n must be a whole number from 0 to 65535", Error);
  CHECK_THROWS_WITH_AS(json.at("s", "header").number("s"), "s must be a number", Error);
  CHECK_THROWS_WITH_AS(json.at("missing", "header"), "header lacks 'missing'", Error);
}

}  // namespace
}  // namespace psm
