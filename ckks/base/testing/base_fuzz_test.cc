// Fuzz targets of the decoders of ckks/base (fuzz.h says how they are run for long), and fuzz() itself.
#include <algorithm>
#include <cstdlib>
#include <new>
#include <stdexcept>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/allocation_meter.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/fuzz.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("JSON: what is accepted is written and read again as the same") {
  FuzzTarget target{.name = "JSON", .fixed_bytes = 4096, .bytes_per_byte = 200};
  target.corpus = {
      R"({"name": "a \"quoted\"\nline \u00e9\ud83d\ude00", "list": [1, -2.5e-3, true, false, null], "deep": [[[[{}]]]]})",
      R"([0, 9223372036854775807, -9223372036854775808, 1e308, 0.1, "", {"": []}])",
      R"({"model":"0123456789abcdef","names":["x","y"],"lengths":[[3,4],[5]]})"};
  target.decode = [](std::string_view text) {
    const std::string once =
        parse_json(text, "input", {.max_bytes = 4096, .max_depth = 6, .max_values = 200}).dump(0);
    PSM_CHECK(parse_json(once, "its own text").dump(0) == once);
  };
  check_fuzz(target, 5000);
}

TEST_CASE("JSON takes the memory that its limits state, whatever the text is made of") {
  constexpr size_t kItems = 30000;
  // An item of an array, and the values that it has.
  for (const auto& [item, values] :
       {std::pair{"0", 1}, {"[]", 1}, {"[0]", 2}, {"{\"\":\"\"}", 2}, {"\"\"", 1}}) {
    std::string text = "[";
    for (size_t i = 0; i < kItems; ++i) text += std::string(item) + ",";
    text.back() = ']';
    const AllocationMeter meter;
    parse_json(text, "input");
    CAPTURE(item);
    CHECK(meter.peak_bytes() <= text.size() + 256 * (kItems * values + 1));
  }
  std::string text = "{";
  for (size_t i = 0; i < kItems; ++i) text += "\"" + std::to_string(i) + "\":0,";
  text.back() = '}';
  const AllocationMeter meter;
  parse_json(text, "input");
  CHECK(meter.peak_bytes() <= text.size() + 256 * (kItems + 1));
}

TEST_CASE("command lines") {
  FuzzTarget target{.name = "flags", .fixed_bytes = 64 << 10, .bytes_per_byte = 500};
  target.corpus = {"--model\nm.safetensors\n--threads=4\n--insecure\n--rate\n1e-3",
                   "word\n--no-insecure\n--threads\n12"};
  target.decode = [](std::string_view text) {
    std::vector<std::string> words{"command"};
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string word = std::string(text.substr(begin, end - begin)).c_str();  // up to a zero byte
      // These print and leave.
      if (word != "--help" && word != "-h" && word != "--version") words.push_back(word);
      begin = end + 1;
    }
    std::vector<char*> arguments;
    for (std::string& word : words) arguments.push_back(word.data());
    Flags flags("command", "Does nothing.");
    flags.text("model", "", "text");
    const int64_t& threads = flags.integer("threads", 1, 1, 64, "whole number");
    const double& rate = flags.number("rate", 0.5, 0, 1, "number");
    flags.truth("insecure", false, "truth");
    flags.words("words", 0, 2, "words");
    flags.parse(static_cast<int>(arguments.size()), arguments.data());
    PSM_CHECK(threads >= 1 && threads <= 64 && rate >= 0 && rate <= 1, threads, " ", rate);
  };
  check_fuzz(target, 5000);
}

// For cases about fuzz() itself. Their inputs are their own, so that they do without PSM_FUZZ_FILE, and come last.
FuzzTarget small_target(std::function<void(std::string_view)> decode) {
  unsetenv("PSM_FUZZ_FILE");
  FuzzTarget target{.name = "test", .fixed_bytes = 4096};
  target.corpus = {"a valid input of 32 characters ..", "another one: 12345"};
  target.decode = std::move(decode);
  return target;
}

TEST_CASE("an exception that is no Error, an empty message and too much memory fail, and the input is kept") {
  const auto kept = [] {
    const char* outputs = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
    return std::string(outputs != nullptr ? outputs : std::getenv("TEST_TMPDIR")) + "/fuzz-input";
  };
  FuzzTarget one = small_target([](std::string_view) { throw std::runtime_error("other"); });
  one.corpus.resize(1);
  CHECK(fuzz(one, 1).failure ==
        "test, input 0, kept in " + kept() + ": an exception that is no Error: other");
  CHECK(read_file(kept(), 1 << 10).find(one.corpus[0]) == 0);
  CHECK(
      contains(fuzz(small_target([](std::string_view) { throw std::bad_alloc(); }), 1).failure, "no Error"));
  CHECK(contains(fuzz(small_target([](std::string_view) { throw Error(""); }), 1).failure, "one line"));
  const FuzzReport report =
      fuzz(small_target([](std::string_view bytes) { std::string(bytes.size() * 1000, 'x'); }), 100);
  CHECK(report.failure.find("bytes of memory") != std::string::npos);
}

TEST_CASE(
    "inputs are the same whatever was run before and cover far more than the corpus, and refusals pass") {
  std::vector<std::string> all, again;
  fuzz(small_target([&](std::string_view bytes) { all.emplace_back(bytes); }), 1);
  size_t longer = 0, shorter = 0;
  const FuzzReport report = fuzz(small_target([&](std::string_view bytes) {
                                   longer += bytes.size() > 40;
                                   shorter += bytes.size() < 10;
                                   if (bytes.size() % 2) throw Error("odd");
                                 }),
                                 500);
  CHECK(longer > 10);
  CHECK(shorter > 10);
  CHECK(report.failure == "");
  CHECK(report.inputs == 500);
  CHECK(report.accepted + report.refused == 500);
  CHECK(report.refused > 50);
  fuzz(small_target([&](std::string_view bytes) { again.emplace_back(bytes); }), 1);
  CHECK(all == again);
}

TEST_CASE("an input that is decoded alone passes whether it is accepted or refused") {
  FuzzTarget target = small_target([](std::string_view bytes) {
    if (bytes == "alone") throw Error("refused");
  });
  for (const char* const input : {"alone", "and accepted"}) {
    setenv("PSM_FUZZ_FILE", in_file(input, "replayed").c_str(), 1);
    check_fuzz(target);
  }
}

TEST_CASE("a message from a file's own text stays one line of bounded length") {
  const Error error(message("the name is ", std::string("two\nlines\x1b[2J"), std::string(5000, 'x')));
  CHECK(std::string(error.what()).find("two?lines?[2J") != std::string::npos);
  CHECK(std::string(error.what()).size() < 2100);
}

}  // namespace
}  // namespace psm
