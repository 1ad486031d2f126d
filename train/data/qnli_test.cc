#include "train/data/qnli.h"

#include <set>

#include "ckks/base/error.h"
#include "ckks/base/testing/shared_data.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

const std::string kHeading = "index\tquestion\tsentence\tlabel\n";

TEST_CASE("pairs are read with their labels") {
  const auto pairs =
      parse_qnli(kHeading + "0\tWho?\tThey did.\tentailment\r\n7\tWhy \"so\"?\tNo.\tnot_entailment", "file");
  REQUIRE(pairs.size() == 2);
  CHECK(pairs[0].text == "Who?\tThey did.");
  CHECK(pairs[0].label == 0);
  CHECK(pairs[1].text == "Why \"so\"?\tNo.");
  CHECK(pairs[1].label == 1);
  CHECK(is_qnli(kHeading));
  CHECK_FALSE(is_qnli("sentence\tlabel\n"));
  CHECK_FALSE(is_qnli(""));
}

TEST_CASE("a file of another form is refused with its line") {
  const auto refused = [](const std::string& text, const char* why) {
    CHECK_THROWS_WITH_AS(parse_qnli(text, "file"), doctest::Contains(why), Error);
  };
  refused("", "file holds no pairs");
  refused(kHeading, "file holds no pairs");
  refused("sentence\tlabel\n", "file, line 1: the heading");
  refused(kHeading + "0\tWho?\tThey.\tentailment\n1\tWho?\tThey.\tyes\n", "file, line 3");
  refused(kHeading + "0\tWho?\tentailment\n", "file, line 2");
  refused(kHeading + "0\t\tThey.\tentailment\n", "file, line 2");
  refused(kHeading + "0\tWho?\tThey.\tentailment\tentailment\n", "file, line 2");
}

TEST_CASE("no pair to train on has a held-out question or sentence") {
  const std::vector<LabelledText> pairs = {{"q1\ts1", 0}, {"q1\ts2", 1}, {"q2\ts1", 1},
                                           {"q2\ts2", 0}, {"s1\tq1", 0}, {"q3\ts3", 1}};
  const LabelledSplit split = split_pairs(pairs, 1);
  REQUIRE(split.held_out.size() == 1);
  CHECK(split.held_out[0].text == "q1\ts1");
  std::set<std::string> left;
  for (const LabelledText& pair : split.training) left.insert(pair.text);
  CHECK(left == std::set<std::string>{"q2\ts2", "s1\tq1", "q3\ts3"});
  CHECK(split.dropped == 2);
  CHECK_THROWS_WITH_AS(split_pairs(pairs, 6), doctest::Contains("too few"), Error);
  CHECK_THROWS_WITH_AS(split_pairs({{"q\ts", 0}, {"q\tt", 1}}, 1), doctest::Contains("hold out fewer"),
                       Error);
}

TEST_CASE("QNLI itself: 5,463 pairs" * doctest::test_suite("external")) {
  const auto path = shared_data("glue/qnli-dev.tsv");
  if (!path) return;
  const LabelledSplit split = read_labelled_split(*path);
  CHECK(split.held_out.size() == 546);
  CHECK(split.training.size() > 4000);
  CHECK(split.training.size() + split.dropped + split.held_out.size() == 5463);
}

}  // namespace
}  // namespace psm::train
