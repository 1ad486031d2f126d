// That the documents state what was measured.
#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "cmd/claims/results.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kMaxFile = 4 << 20;

std::string made_folder(const std::string& name) {
  const std::string folder = path_of(name);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<Result> made_results() {
  const std::string folder = made_folder("results");
  write_file(folder + "/pass.json", R"({
    "command": "echo '{\"parts\": [{\"name\": \"all\", \"ms\": 53500}], \"loss\": \"2.60 +- 0.05\"}' > $OUT/pass.json",
    "commit": "0123abcd", "machine": null, "seeds": [1, 2], "seconds": null,
    "figures": {
      "warm": {"value": 53.82, "unit": "s", "tolerance": 0.1, "at": "pass.json/parts/all/ms * 1e-3"},
      "loss": {"value": 2.6, "unit": "bits", "tolerance": 0, "at": "pass.json/loss"},
      "interval": {"value": 0.04, "unit": "bits", "tolerance": 0.1, "at": "pass.json/loss#2"},
      "error": {"value": 5.4e-9, "unit": "", "tolerance": 0, "at": null},
      "same": {"value": 12800, "unit": "", "tolerance": 0, "at": null}},
    "texts": {"table": ["| {warm:1} s | {same:0} |", "{loss:+2}, {error:1e}, {pass.loss}, {run}"]}})");
  return read_results(folder);
}

const std::string kDocument = "# Title\n\n<!-- result pass.table -->\nold\n<!-- end result -->\nAfter.\n";

TEST_CASE("every document states what the results say, and no other figure") {
  const std::vector<Result> results = read_results(runfile(kResultsFolder));
  for (const std::string name : kDocuments) {
    CAPTURE(name);
    const std::string document = read_file(runfile(name), kMaxFile);
    CHECK_MESSAGE(with_results(document, results) == document, "call bazel run //cmd:study -- tables");
    for (const std::string& figure : unsupported_figures(document, results)) FAIL_CHECK(figure);
  }
  for (const Result& result : results) {
    CAPTURE(result.name);
    CHECK(file_of(result.json) ==
          read_file(runfile(message(kResultsFolder, "/", result.name, ".json")), kMaxFile));
    for (const Figure& figure : result.figures) CHECK((figure.at.empty() || !result.command.empty()));
  }
}

TEST_CASE("a block is filled with figures as documents print them") {
  const std::vector<Result> results = made_results();
  const std::string filled = with_results(kDocument, results);
  CHECK(filled ==
        "# Title\n\n<!-- result pass.table -->\n| 53.8 s | 12,800 |\n+2.60, 5.4e-9, 2.6, version 0123abcd; "
        "seeds 1, 2\n"
        "<!-- end result -->\nAfter.\n");
  CHECK(with_results(filled, results) == filled);
  const auto refused = [&](const std::string& document) {
    return refusal_of([&] { with_results(document, results); });
  };
  CHECK(contains(refused("<!-- result moon.table -->\n<!-- end result -->\n"), "no result 'moon'"));
  CHECK(contains(refused("<!-- result pass.moon -->\n<!-- end result -->\n"), "moon"));
  CHECK(contains(refused("<!-- result pass.table -->\n"), "has no"));
  CHECK(contains(refused("<!-- result pass -->\n<!-- end result -->\n"), "RESULT.TEXT"));
}

TEST_CASE("a figure that no result states is found with its line") {
  const std::vector<Result> results = made_results();
  const auto found = [&](const std::string& document) { return unsupported_figures(document, results); };
  CHECK(found("A pass takes 54 s, or 53.8 s; 2.6 bits, 2.60 bits, 12,800 of them, within 5.4e-9.").empty());
  CHECK(found("N = 2^16, p = 4, version 1.2.3, 2,048 tokens, `53.9 s`, x1.5, 1e-3, Llama 7B, 128-bit.")
            .empty());
  CHECK(found("```\n53.9 s\n```\n").empty());
  CHECK(found("One.\nA pass takes 53.9 s.") == std::vector<std::string>{"2: 53.9 s"});
  CHECK(found("It takes 55 s.") == std::vector<std::string>{"1: 55 s"});
  CHECK(found("A loss of 53.8 bits.") == std::vector<std::string>{"1: 53.8 bits"});
  CHECK(found("Within 2^-5.4 and 5.5e-9.") == std::vector<std::string>{"1: 5.4", "1: 5.5e-9"});
  CHECK(found("| a | 12,800 | 77 |") == std::vector<std::string>{"1: 77"});
}

TEST_CASE("a result is measured again by its command, and compared within its tolerance") {
  const std::vector<Result> results = made_results();
  const Result& result = results.front();
  const std::vector<std::optional<double>> values = measure_again(result);
  REQUIRE(values.size() == 5);
  CHECK(*values[0] == doctest::Approx(53.5));
  CHECK(*values[1] == 2.6);
  CHECK(*values[2] == 0.05);
  CHECK_FALSE(values[3].has_value());
  CHECK(is_confirmed(result.figures[0], *values[0], true));
  CHECK(is_confirmed(result.figures[1], *values[1], true));
  CHECK_FALSE(is_confirmed(result.figures[2], *values[2], true));
  CHECK_FALSE(is_confirmed(result.figures[0], 60, true));
  CHECK(is_confirmed(result.figures[0], 60, false));  // another machine's time
  CHECK_FALSE(is_confirmed(result.figures[1], 2.7, false));
  for (const char* machine : {"AMD EPYC", "AMD EPYC, Zen 4"}) CHECK(is_same_machine(machine, "AMD EPYC"));
  for (const char* machine : {"", "AMD EPYC 9554", "NVIDIA H100"})
    CHECK_FALSE(is_same_machine(machine, "AMD EPYC"));
}

TEST_CASE("a place in a file is found, or what is missing is said") {
  const std::string folder = made_folder("places");
  write_file(folder + "/a.json",
             R"({"rows": [["p = 4", "x 1,234.5"], ["p = 6", "none"]], "n": 8, "half": 0.125})");
  CHECK(value_at(folder, "a.json/rows/p = 4/1") == 1234.5);
  CHECK(value_at(folder, "a.json/rows/0/1") == 1234.5);
  CHECK(value_at(folder, "a.json/n / a.json/half") == 64);
  CHECK(value_at(folder, "a.json/half in bits") == 3);
  CHECK(value_at(folder, "a.json/half * 100") == 12.5);
  for (const char* at :
       {"a.json/rows/p = 8/1", "a.json/rows/p = 6/1", "a.json/m", "a.json/rows", "b.json/n", "a.json/rows/7"})
    CHECK(refusal_of([&] { value_at(folder, at); }) != "");
}

TEST_CASE("a file that is no result is refused by name") {
  const std::string folder = made_folder("bad");
  for (const char* text :
       {"{}", "[]", R"({"command": 1})",
        R"({"command": null, "commit": null, "machine": null, "figures": {"a": {"unit": "s"}}})"}) {
    write_file(folder + "/bad.json", text);
    CHECK_REFUSED(read_results(folder), "bad.json");
  }
  CHECK_REFUSED(read_results(folder + "/none"), "holds no results");
}

}  // namespace
}  // namespace psm::cmd
