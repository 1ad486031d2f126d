#include "cmd/study/softmax_methods.h"

#include <algorithm>
#include <cmath>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

constexpr int kTokens = 16;

ScoreRows model_of(attention::AttentionKind kind, double deviation) {
  ScoreRows model;
  model.config.attention = kind, model.config.epsilon = 0.2;
  TrainingRandom random(5);
  for (int head = 0; head < 8; ++head) {
    auto& rows = model.heads.emplace_back();
    for (int t = 0; t < kTokens; ++t) {
      auto& row = rows.emplace_back();
      for (int j = 0; j <= t; ++j) {
        row.push_back(deviation * random.normal());
        model.bound = std::max(model.bound, std::abs(row.back()));
      }
    }
  }
  return model;
}

const ScoreRows kSoftmax = model_of(attention::AttentionKind::kSoftmax, 1.5), kScaled = scaled_down(kSoftmax),
                kPower = model_of(attention::AttentionKind::kPowerSoftmax, 1),
                kRelu = model_of(attention::AttentionKind::kScaledRelu, 1);

TEST_CASE("scores that exp cannot take are scaled down") {
  const ScoreRows wide = model_of(attention::AttentionKind::kSoftmax, 10), scaled = scaled_down(wide);
  REQUIRE(wide.bound > kTakenScores);
  CHECK(scaled.bound == doctest::Approx(kTakenScores));
  CHECK(scaled.heads[1][3][2] == doctest::Approx(wide.heads[1][3][2] * kTakenScores / wide.bound));
  CHECK(kScaled.bound == kSoftmax.bound);
}

TEST_CASE("forms of the fewest levels have the error that is asked for, of their own model's weights") {
  const std::vector<SoftmaxMethod> methods = softmax_methods(kSoftmax, kScaled, kPower, kRelu, kTokens);
  REQUIRE(methods.size() == 6);
  for (size_t i = 0; i < 4; ++i) {
    CAPTURE(methods[i].name);
    CHECK_FALSE(methods[i].name.ends_with("21 iterations"));
    const double worst = worst_weight_error(methods[i]);
    CHECK(worst > 0);
    CHECK(worst <= kMethodError);
  }
}

TEST_CASE("the paper's constants are what they are: 21 iterations divide exactly, a short series errs more") {
  const std::vector<SoftmaxMethod> methods = softmax_methods(kSoftmax, kScaled, kPower, kRelu, kTokens);
  const SoftmaxMethod &power = methods.back(), &taylor = methods[methods.size() - 2];
  CHECK(power.row.parts[0].depth() == 22);
  CHECK(worst_weight_error(power) < kMethodError);
  CHECK(taylor.row.parts[1].depth() == 22);
  CHECK(worst_weight_error(taylor) > kMethodError);
}

}  // namespace
}  // namespace psm::cmd
