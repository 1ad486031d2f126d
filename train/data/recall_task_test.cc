#include "train/data/recall_task.h"

#include <map>
#include <set>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm::train {
namespace {

TEST_CASE("every sequence pairs distinct keys with values and asks for nothing else") {
  const RecallTask task({16, 32, 8, 64});
  CHECK(task.vocab() == 48);
  CHECK(task.queries_per_sequence() == 24);
  TrainingRandom random(3);
  const Batch batch = task.draw(50, random);
  CHECK(batch.scored() == 50 * 24);
  for (int s = 0; s < 50; ++s) {
    const int* tokens = &batch.tokens[s * 64];
    const int* targets = &batch.targets[s * 64];
    std::map<int, int> partner;
    for (int i = 0; i < 16; i += 2) {
      CHECK(tokens[i] < 16);
      CHECK(tokens[i + 1] >= 16);
      CHECK(tokens[i + 1] < 48);
      CHECK(targets[i] == -1);
      partner[tokens[i]] = tokens[i + 1];
    }
    CHECK(partner.size() == 8);
    for (int i = 16; i < 64; i += 2) {
      REQUIRE(partner.count(tokens[i]) == 1);
      CHECK(targets[i] == partner[tokens[i]]);
      CHECK(tokens[i + 1] == targets[i]);
      CHECK(targets[i + 1] == -1);
    }
  }
}

TEST_CASE("pairings are drawn anew for every sequence and held-out streams differ") {
  const RecallTask task({16, 32, 8, 64});
  const Batch validation = task.validation(40);
  CHECK(validation.tokens == task.validation(40).tokens);
  CHECK(validation.tokens != task.test(40, 1).tokens);
  CHECK(task.test(40, 1).tokens != task.test(40, 2).tokens);
  std::set<int> partners_of_first_key;
  for (int s = 0; s < 40; ++s)
    for (int i = 0; i < 16; i += 2)
      if (validation.tokens[s * 64 + i] == 0) partners_of_first_key.insert(validation.tokens[s * 64 + i + 1]);
  CHECK(partners_of_first_key.size() > 5);
}

TEST_CASE("options that make no task are refused") {
  CHECK_THROWS_AS(RecallTask({4, 32, 8, 64}), Error);
  CHECK_THROWS_AS(RecallTask({16, 32, 8, 16}), Error);
  CHECK_THROWS_AS(RecallTask({16, 32, 8, 65}), Error);
  CHECK_THROWS_AS(RecallTask({16, 1, 8, 64}), Error);
  CHECK_THROWS_AS(RecallTask({1 << 30, 2, 1 << 30, 64}), Error);  // twice as many do not fit an int
}

}  // namespace
}  // namespace psm::train
