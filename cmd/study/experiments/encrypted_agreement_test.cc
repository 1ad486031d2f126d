#include "cmd/study/experiments/encrypted_agreement.h"

#include <cmath>
#include <memory>

#include "ckks/base/error.h"
#include "ckks/base/parallel.h"
#include "cmd/timing/random_model.h"
#include "doctest/doctest.h"
#include "nn/text/alphabet.h"

namespace psm::cmd {
namespace {

// A tiny model in a ring that offers no security.
struct Small {
  Small() : codec(std::make_shared<const nn::Alphabet>("abcdefghijklmnopqrstuvwxyz012345")) {
    set_thread_count(1);
    attention::ModelConfig config;
    config.vocab = 32, config.context = 32, config.layers = 1, config.width = 16, config.heads = 2;
    config.ffn = 32;
    RandomModel model = random_model(config, 1, 6);
    prompts = model.prompts;
    deployment =
        std::make_unique<Deployment>(model.checkpoint, ckks::insecure_version(ckks::secure_n16(), 11));
    REQUIRE(deployment->packing.prompts == 4);  // six prompts are two passes
  }
  PromptCodec codec;
  std::vector<std::vector<int>> prompts;
  std::unique_ptr<Deployment> deployment;
};

StudyOptions options() { return {.minutes = 1, .seeds = 1, .out = "", .data = "nowhere"}; }

const Json& cell(const Json& items, size_t row, size_t column) {
  return items.array("items")[0].at("rows", "table").array("rows")[row].array("row")[column];
}

TEST_CASE(
    "every prompt is compared at every position, pass by pass, and a killed study goes on after the last") {
  const Small small;
  Json kept = Json(Json::Object{});
  int changes = 0;
  StudyContext whole(options(), Json(Json::Object{}), [&](const Json& parts) {
    kept = parts;
    ++changes;
  });
  StudyResult result;
  encrypted_agreement(*small.deployment, small.codec, small.prompts, whole, result);
  CHECK(changes == 3);  // the predicted deviation and two passes
  CHECK(cell(result.json(), 1, 1).string("prompts") == "6");
  const double mse = std::stod(cell(result.json(), 2, 1).string("mse"));
  const double most = std::stod(cell(result.json(), 3, 1).string("largest"));
  const double predicted = std::stod(cell(result.json(), 4, 1).string("predicted"));
  CHECK(mse > 0);
  CHECK(most < 64 * predicted);  // denominators span a factor of hundreds, and errors with them
  CHECK(std::sqrt(mse) < 3 * predicted);
  CHECK(std::sqrt(mse) > predicted / 3);
  CHECK(std::stod(cell(result.json(), 7, 1).string("mean KL")) < 1e-6);
  CHECK(cell(result.json(), 8, 1).string("refused") == "0");

  // With one pass forgotten, one pass is made; with none, no key is.
  Json first = Json(Json::Object{});
  for (size_t i = 0; i < 2; ++i) first[kept.object("parts")[i].first] = kept.object("parts")[i].second;
  int made = 0;
  StudyContext resumed(options(), first, [&](const Json&) { ++made; });
  StudyResult again;
  encrypted_agreement(*small.deployment, small.codec, small.prompts, resumed, again);
  CHECK(made == 1);
  StudyContext finished(options(), kept, [&](const Json&) { FAIL("nothing is left to do"); });
  StudyResult same;
  encrypted_agreement(*small.deployment, small.codec, small.prompts, finished, same);
  CHECK(same.json().dump() == result.json().dump());
}

TEST_CASE("prompts that leave an interval are counted, not encrypted; without any other there is no answer") {
  Small small;
  for (program::RangeCheck& check : small.deployment->plan.program.checks) check.lo = 1e3, check.hi = 2e3;
  StudyContext context(options(), Json(Json::Object{}), {});
  StudyResult result;
  CHECK_THROWS_WITH_AS(encrypted_agreement(*small.deployment, small.codec, small.prompts, context, result),
                       doctest::Contains("interval"), Error);
}

TEST_CASE("prompts of the recall task are different, and the same whatever their number is") {
  const PromptCodec codec(nn::RecallOptions{});
  attention::ModelConfig config;
  StudyContext context(options(), Json(Json::Object{}), {});
  const auto three = agreement_prompts(codec, config, context, 3),
             two = agreement_prompts(codec, config, context, 2);
  CHECK(three[0] == two[0]);
  CHECK(three[1] == two[1]);
  CHECK(three[0] != three[1]);
  CHECK(three[1] != three[2]);
}

}  // namespace
}  // namespace psm::cmd
