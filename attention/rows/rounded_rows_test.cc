#include "attention/rows/rounded_rows.h"

#include <cmath>
#include <vector>

#include "attention/rows/row_weights.h"
#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

using Row = std::vector<float>;

Row random_row(size_t length, uint64_t seed) {
  TrainingRandom random(seed);
  Row row(length);
  for (float& x : row) x = static_cast<float>(random.normal());
  return row;
}

ModelConfig power(PowerForm form, int p) {
  ModelConfig config;
  config.form = form;
  config.power = p;
  return config;
}

Row rounded_weights(const ModelConfig& config, nn::Rounding to, const Row& x) {
  Row w(x.size()), scratch(3 * x.size());
  rounded_row_weights(config, to, x.data(), static_cast<int>(x.size()), w.data(), scratch.data());
  return w;
}

TEST_CASE("rows that are not rounded, or hardly, are those of row_weights, and so are their gradients") {
  constexpr int kLength = 19;
  ModelConfig softmax;
  softmax.attention = AttentionKind::kSoftmax;
  std::vector<ModelConfig> configs = {softmax};
  for (const PowerForm form :
       {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable, PowerForm::kLengthAgnostic})
    for (const int p : {4, 6}) configs.push_back(power(form, p));
  for (const ModelConfig& config : configs)
    for (const auto& [to, tolerance] :
         {std::pair{nn::Rounding::kNone, 1e-5}, {nn::Rounding::kFp16, 0.02}, {nn::Rounding::kBf16, 0.2}}) {
      CAPTURE(name_of(config.attention));
      CAPTURE(name_of(config.form));
      CAPTURE(config.power);
      CAPTURE(nn::name_of(to));
      const Row x = random_row(kLength, 3), g = random_row(kLength, 4);
      Row w(kLength), grad(kLength), rounded_grad(kLength), scratch(3 * kLength);
      row_weights(config, x.data(), kLength, w.data());
      row_weights_vjp(config, x.data(), w.data(), g.data(), kLength, grad.data());
      const Row rounded = rounded_weights(config, to, x);
      rounded_row_weights_vjp(config, to, x.data(), rounded.data(), g.data(), kLength, rounded_grad.data(),
                              scratch.data());
      for (size_t j = 0; j < kLength; ++j) {
        CHECK(rounded[j] == doctest::Approx(w[j]).epsilon(tolerance));
        CHECK(rounded_grad[j] == doctest::Approx(grad[j]).epsilon(tolerance).scale(1));
        CHECK(nn::rounded(to, rounded[j]) == rounded[j]);
      }
    }
}

TEST_CASE("fp16 loses rows whose powers leave its range, the stable form and bf16 do not") {
  const Row large = {20, 3, -1}, small = {0.01f, 0.003f, -0.001f};
  CHECK(std::isnan(rounded_weights(power(PowerForm::kLipschitz, 4), nn::Rounding::kFp16, large)[0]));
  CHECK(std::isnan(rounded_weights(power(PowerForm::kPlain, 4), nn::Rounding::kFp16, small)[0]));
  CHECK(rounded_weights(power(PowerForm::kLipschitz, 4), nn::Rounding::kFp16, small)[0] == 0);
  for (const Row& x : {large, small}) {
    CHECK(rounded_weights(power(PowerForm::kStable, 12), nn::Rounding::kFp16, x)[0] > 0.99f);
    CHECK(rounded_weights(power(PowerForm::kPlain, 12), nn::Rounding::kBf16, x)[0] > 0.98f);
  }
}

}  // namespace
}  // namespace psm::attention
