#include "train/data/sst2.h"

#include <set>

#include "ckks/base/error.h"
#include "ckks/base/testing/shared_data.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

TEST_CASE("phrases are read with their labels, without spaces at their ends") {
  const auto phrases = parse_sst2("sentence\tlabel\nbears and \t1\r\n kids , spirit\t0", "file");
  REQUIRE(phrases.size() == 2);
  CHECK(phrases[0].text == "bears and");
  CHECK(phrases[0].label == 1);
  CHECK(phrases[1].text == "kids , spirit");
  CHECK(phrases[1].label == 0);
}

TEST_CASE("a file of another form is refused with its line") {
  const auto refused = [](const char* text, const char* why) {
    CHECK_THROWS_WITH_AS(parse_sst2(text, "file"), doctest::Contains(why), Error);
  };
  refused("", "file holds no phrases");
  refused("sentence\tlabel\n", "file holds no phrases");
  refused("index\tquestion\tsentence\tlabel\n", "file, line 1: the heading");
  refused("sentence\tlabel\ngood\t1\nbad\n", "file, line 3");
  refused("sentence\tlabel\ngood\t2\n", "file, line 2");
  refused("sentence\tlabel\ngood\t1\t1\n", "file, line 2");
  refused("sentence\tlabel\n \t1\n", "file, line 2");
  refused("sentence\tlabel\n\ngood\t1\n", "file, line 2");
}

TEST_CASE("no phrase to train on contains a held-out one or is a part of it") {
  const std::vector<LabelledText> phrases = {
      {"a b c d", 1}, {"b c", 1}, {"bc", 0},  {"x a b c d y", 1},
      {"a c", 0},     {"d", 1},   {"e f", 0}, {"c d e", 0},
  };
  const LabelledSplit split = split_phrases(phrases, 1, 4);
  REQUIRE(split.held_out.size() == 1);
  CHECK(split.held_out[0].text == "a b c d");
  std::set<std::string> left;
  for (const LabelledText& phrase : split.training) left.insert(phrase.text);
  CHECK(left == std::set<std::string>{"bc", "a c", "e f", "c d e"});
  CHECK(split.dropped == 3);
}

TEST_CASE("held-out phrases are long, and spread over the file") {
  std::vector<LabelledText> phrases;
  for (int n = 0; n < 100; ++n)
    phrases.push_back({n % 2 ? "w" + std::to_string(n) : "w" + std::to_string(n) + " word", n % 2});
  const LabelledSplit split = split_phrases(phrases, 5, 2);
  std::vector<std::string> texts;
  for (const LabelledText& phrase : split.held_out) texts.push_back(phrase.text);
  CHECK(texts == std::vector<std::string>{"w0 word", "w20 word", "w40 word", "w60 word", "w80 word"});
  CHECK_THROWS_WITH_AS(split_phrases(phrases, 51, 2), doctest::Contains("too few"), Error);
  CHECK_THROWS_WITH_AS(split_phrases({{"one", 1}}, 1, 1), doctest::Contains("hold out fewer"), Error);
}

TEST_CASE("SST-2 itself: 67,349 phrases" * doctest::test_suite("external")) {
  const auto path = shared_data("glue/sst2-train.tsv");
  if (!path) return;
  const auto phrases = read_sst2(*path);
  CHECK(phrases.size() == 67349);
  const LabelledSplit split = split_phrases(phrases, 1000, 12);
  CHECK(split.held_out.size() == 1000);
  CHECK(split.training.size() > 40000);
  CHECK(split.training.size() + split.dropped + 1000 == phrases.size());
}

}  // namespace
}  // namespace psm::train
