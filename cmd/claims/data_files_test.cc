#include "cmd/claims/data_files.h"

#include <filesystem>

#include "ckks/base/files/file.h"
#include "ckks/base/files/json_parser.h"
#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/base/testing/shared_data.h"

namespace psm::cmd {
namespace {

TEST_CASE("a file is there, differs or is missing") {
  const Json data = parse_json(R"({"files": [
    {"path": "a.txt", "source": "here", "prepared": "as it is", "bytes": 3,
     "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"path": "b.txt", "source": "there", "prepared": "cut", "bytes": 3,
     "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]})",
                               "data");
  const std::string folder = path_of("data");
  std::filesystem::create_directories(folder);
  const auto states = [&] {
    std::vector<DataState> states;
    for (const DataFile& file : check_data(data, folder)) states.push_back(file.state);
    return states;
  };
  using enum DataState;
  CHECK(states() == std::vector{kMissing, kMissing});
  write_file(folder + "/a.txt", "abc");
  write_file(folder + "/b.txt", "abd");
  CHECK(states() == std::vector{kThere, kDiffers});
  write_file(folder + "/b.txt", "abcd");
  CHECK(states() == std::vector{kThere, kDiffers});
  CHECK(check_data(data, folder)[1].prepared == "cut");
}

TEST_CASE("novels are cut out of their files, in ASCII, and the end of each is held out") {
  std::string raw = "Licence\r\n*** START OF THE PROJECT GUTENBERG EBOOK ***\r\n\r\n\r\nTitle\r\n\r\n\r\n";
  for (int i = 0; i < 38; ++i) raw += "Paragraph.\r\n\r\n";
  raw +=
      "\u201CCaf\u00E9\u201D\u2014it\u2019s.  \r\n\r\nLast.\r\n*** END OF THE PROJECT GUTENBERG EBOOK "
      "***\r\nMore\r\n";
  const auto [train, held_out] = prepare_novels({raw, "Plain text.\n"});
  CHECK(train.starts_with("Title\n\nParagraph.\n\n"));
  CHECK(train.ends_with("Paragraph.\n\nPlain text.\n\n"));
  CHECK(held_out == "\"Cafe\"--it's.\n\nLast.\n\n");
  CHECK_REFUSED(prepare_novels({"\xff"}), "UTF-8");
}

TEST_CASE("data.json names every file at hand, as it is" * doctest::test_suite("external")) {
  const auto folder = shared_data(".");
  if (!folder) return;
  const Json data = parse_json(read_file(runfile("testdata/data.json"), 1 << 20), "data.json");
  size_t named = 0, found = 0;
  for (const DataFile& file : check_data(data, *folder)) {
    CAPTURE(file.path);
    CHECK(file.state != DataState::kDiffers);
    // The one file that is not at hand everywhere.
    CHECK((file.state == DataState::kThere || file.path == "glue/mrpc-dev-ids.tsv"));
    named += file.state == DataState::kThere;
  }
  for (const auto& entry : std::filesystem::recursive_directory_iterator(*folder))
    found += entry.is_regular_file() && entry.path().filename() != "README.md";
  CHECK(named == found);
  CHECK(data.at("novels", "data.json").array("novels").size() == 7);
}

}  // namespace
}  // namespace psm::cmd
