#include "attention/config.h"

#include <limits>

#include "ckks/base/error.h"
#include "doctest/doctest.h"

namespace psm {
namespace {

ModelConfig small() {
  ModelConfig config;
  config.vocab = 8, config.context = 4, config.layers = 1, config.width = 8, config.heads = 2,
  config.ffn = 16;
  return config;
}

TEST_CASE("a small configuration is accepted and answers its derived sizes") {
  ModelConfig config = small();
  CHECK_NOTHROW(config.validate());
  CHECK(config.head_dim() == 4);
  CHECK(config.rotary_dims() == 0);
  config.rotary_fraction = 1.0;
  CHECK(config.rotary_dims() == 4);
}

TEST_CASE("impossible configurations are refused with bad input") {
  auto refused = [](auto change) {
    ModelConfig config = small();
    change(config);
    CHECK_THROWS_AS(config.validate(), Error);
  };
  refused([](ModelConfig& c) { c.vocab = 0; });
  refused([](ModelConfig& c) { c.layers = -1; });
  refused([](ModelConfig& c) { c.heads = 3; });
  for (int power : {-2, 0, 1, 3, 5, 18}) refused([=](ModelConfig& c) { c.power = power; });
  refused([](ModelConfig& c) { c.rotary_fraction = 1.5; });
  refused([](ModelConfig& c) { c.epsilon = std::numeric_limits<double>::quiet_NaN(); });
  refused([](ModelConfig& c) { c.norm_epsilon = 0; });
  ModelConfig odd = small();
  odd.power = 5;
  CHECK_THROWS_WITH_AS(odd.validate(), doctest::Contains("power = 5 is not an even number from 2 to 16"), Error);
  for (int power = 2; power <= 16; power += 2) {
    ModelConfig even = small();
    even.power = power;
    CHECK_NOTHROW(even.validate());
  }
}

TEST_CASE("every name parses back to its value and others are refused") {
  for (auto kind : {AttentionKind::kSoftmax, AttentionKind::kPowerSoftmax, AttentionKind::kScaledRelu})
    CHECK(attention_kind_from(name_of(kind)) == kind);
  for (auto form : {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable, PowerForm::kLengthAgnostic})
    CHECK(power_form_from(name_of(form)) == form);
  CHECK_THROWS_AS(attention_kind_from("softmix"), Error);
  CHECK_THROWS_AS(power_form_from(""), Error);
}

}  // namespace
}  // namespace psm
