#include "train/data/labelled_text.h"

#include <cstdlib>
#include <filesystem>

#include "ckks/base/error.h"
#include "ckks/base/files/file.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

TEST_CASE("the heading says which file it is, and a tenth is held out") {
  const char* root = std::getenv("TEST_TMPDIR");
  const std::string path = (std::filesystem::path(root ? root : "/tmp") / "labelled.tsv").string();
  std::string pairs = "index\tquestion\tsentence\tlabel\n", phrases = "sentence\tlabel\r\n";
  for (int n = 0; n < 20; ++n) {
    const std::string number = std::to_string(n);
    pairs += number + "\tq" + number + "\ts" + number + "\tentailment\n";
    phrases += number + " 2 3 4 5 6 7 8 9 10 11 12\t1\n";
  }
  write_file(path, pairs);
  CHECK(read_labelled_split(path).held_out.size() == 2);
  CHECK(read_labelled_split(path).training.size() == 18);
  CHECK(read_labelled_split(path).held_out[1].text == "q10\ts10");
  write_file(path, phrases);
  CHECK(read_labelled_split(path).held_out[1].text == "10 2 3 4 5 6 7 8 9 10 11 12");
  for (const char* other : {"", "text\tlabel\na\t1\n"}) {
    write_file(path, other);
    CHECK_THROWS_WITH_AS(read_labelled_split(path), doctest::Contains("the heading is neither SST-2's"),
                         Error);
  }
}

}  // namespace
}  // namespace psm::train
