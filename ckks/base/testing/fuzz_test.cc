#include "ckks/base/testing/fuzz.h"

#include <cstdlib>
#include <new>
#include <stdexcept>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "ckks/base/testing/check.h"

namespace psm {
namespace {

FuzzTarget target(std::function<void(std::string_view)> decode) {
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
  FuzzTarget one = target([](std::string_view) { throw std::runtime_error("other"); });
  one.corpus.resize(1);
  CHECK(fuzz(one, 1).failure ==
        "test, input 0, kept in " + kept() + ": an exception that is no Error: other");
  CHECK(read_file(kept(), 1 << 10).find(one.corpus[0]) == 0);
  CHECK(contains(fuzz(target([](std::string_view) { throw std::bad_alloc(); }), 1).failure, "no Error"));
  CHECK(contains(fuzz(target([](std::string_view) { throw Error(""); }), 1).failure, "one line"));
  const FuzzReport report =
      fuzz(target([](std::string_view bytes) { std::string(bytes.size() * 1000, 'x'); }), 100);
  CHECK(report.failure.find("bytes of memory") != std::string::npos);
}

TEST_CASE(
    "inputs are the same whatever was run before and cover far more than the corpus, and refusals pass") {
  std::vector<std::string> all, again;
  fuzz(target([&](std::string_view bytes) { all.emplace_back(bytes); }), 1);
  size_t longer = 0, shorter = 0;
  const FuzzReport report = fuzz(target([&](std::string_view bytes) {
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
  fuzz(target([&](std::string_view bytes) { again.emplace_back(bytes); }), 1);
  CHECK(all == again);
}

TEST_CASE("a message from a file's own text stays one line of bounded length") {
  const Error error(message("the name is ", std::string("two\nlines\x1b[2J"), std::string(5000, 'x')));
  CHECK(std::string(error.what()).find("two?lines?[2J") != std::string::npos);
  CHECK(std::string(error.what()).size() < 2100);
}

}  // namespace
}  // namespace psm
