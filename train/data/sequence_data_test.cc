#include "train/data/sequence_data.h"

#include <set>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

std::vector<std::vector<int>> numbered(int count) {
  std::vector<std::vector<int>> sequences;
  for (int s = 0; s < count; ++s) sequences.push_back({s, s + 1, s + 2});
  return sequences;
}

TEST_CASE("training draws the first nine tenths, validation shows the last tenth") {
  const SequenceData data(numbered(20), 22, "numbers");
  CHECK(data.context() == 2);
  Batch batch;
  TrainingRandom random(1);
  data.draw(500, random, batch);
  std::set<int> first;
  for (int s = 0; s < 500; ++s) {
    first.insert(batch.tokens[2 * s]);
    CHECK(batch.tokens[2 * s + 1] == batch.tokens[2 * s] + 1);
    CHECK(batch.targets[2 * s] == batch.tokens[2 * s] + 1);
    CHECK(batch.targets[2 * s + 1] == batch.tokens[2 * s] + 2);
  }
  CHECK(first.size() == 18);
  CHECK(*first.rbegin() == 17);
  CHECK(data.validation(5).tokens == std::vector<int>{18, 19, 19, 20});
  CHECK(data.validation(1).sequences == 1);
}

TEST_CASE("the description tells which data these are") {
  CHECK(SequenceData(numbered(4), 22, "numbers").description() ==
        SequenceData(numbered(4), 22, "numbers").description());
  CHECK(SequenceData(numbered(4), 22, "numbers").description() !=
        SequenceData(numbered(5), 22, "numbers").description());
}

TEST_CASE("sequences that cannot be trained on are refused") {
  CHECK_THROWS_AS(SequenceData({}, 5, "none"), Error);
  CHECK_THROWS_AS(SequenceData({{1, 2}}, 5, "one"), Error);
  CHECK_THROWS_AS(SequenceData({{1}, {2}}, 5, "short"), Error);
  CHECK_THROWS_AS(SequenceData({{1, 2}, {2}}, 5, "uneven"), Error);
  CHECK_THROWS_AS(SequenceData({{1, 2}, {2, 5}}, 5, "outside"), Error);
}

}  // namespace
}  // namespace psm::train
