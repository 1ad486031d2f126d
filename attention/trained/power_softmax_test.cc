#include "attention/trained/power_softmax.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "ckks/base/random/training_random.h"
#include "doctest/doctest.h"

namespace psm::attention {
namespace {

using Row = std::vector<double>;
constexpr PowerForm kAllForms[] = {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable,
                                   PowerForm::kLengthAgnostic};

Row random_row(int length, uint64_t seed) {
  TrainingRandom random(seed);
  Row row(length);
  for (double& x : row) x = random.normal();
  return row;
}

ModelConfig with(PowerForm form, int power, double epsilon) {
  return {.form = form, .power = power, .epsilon = epsilon};
}

Row weigh(const ModelConfig& config, const Row& x) {
  Row w(x.size());
  row_weights(config, x.data(), static_cast<int>(x.size()), w.data());
  return w;
}

TEST_CASE("repeating a row leaves the length-agnostic denominator as it is and halves the weights") {
  const ModelConfig config = with(PowerForm::kLengthAgnostic, 4, 0.1);
  const Row x = random_row(5, 3);
  Row twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  CHECK(length_agnostic_denominator(config, twice.data(), 10) ==
        doctest::Approx(length_agnostic_denominator(config, x.data(), 5)));
  CHECK(weigh(config, twice)[2] == doctest::Approx(weigh(config, x)[2] / 2));
  const ModelConfig square = with(PowerForm::kLengthAgnostic, 2, 0.5);
  CHECK(length_agnostic_denominator(square, Row{1, 2}.data(), 2) == doctest::Approx(3));
}

TEST_CASE("the stable form survives scores whose power leaves float's range") {
  const std::vector<float> x = {1e12f, -5e11f, 0};
  std::vector<float> w(3), grad(3);
  const std::vector<float> g = {1, -1, 2};
  const ModelConfig stable = with(PowerForm::kStable, 4, 1e-3);
  power_softmax(stable, x.data(), 3, w.data());
  CHECK(w[0] == doctest::Approx(1 / (1 + 0.0625 + 1e-3)));
  power_softmax_vjp(stable, x.data(), w.data(), g.data(), 3, grad.data());
  for (float v : grad) CHECK(std::isfinite(v));
  power_softmax(with(PowerForm::kLipschitz, 4, 1e-3), x.data(), 3, w.data());
  CHECK_FALSE(std::isfinite(w[0]));
}

// Every variant: three kinds, and PowerSoftmax in its four forms with several powers.
std::vector<ModelConfig> every_variant() {
  std::vector<ModelConfig> variants(2);
  variants[0].attention = AttentionKind::kSoftmax;
  variants[1].attention = AttentionKind::kScaledRelu;
  for (PowerForm form : kAllForms)
    for (int power : {2, 4, 6, 8, 10, 16}) {
      variants.push_back(with(form, power, 0.1));
      variants.back().stable_delta = 0.05;
    }
  return variants;
}

TEST_CASE("softmax sums to one and ignores a shift") {
  const ModelConfig config{.attention = AttentionKind::kSoftmax};
  const Row x = random_row(6, 5), w = weigh(config, x);
  Row shifted = x;
  for (double& value : shifted) value += 1000;
  const Row same = weigh(config, shifted);
  CHECK(std::accumulate(w.begin(), w.end(), 0.0) == doctest::Approx(1));
  CHECK(w[1] / w[0] == doctest::Approx(std::exp(x[1] - x[0])));
  for (int j = 0; j < 6; ++j) CHECK(same[j] == doctest::Approx(w[j]));
}

TEST_CASE("scaled ReLU gives nothing to negative scores and divides the others by the row's length") {
  CHECK(weigh({.attention = AttentionKind::kScaledRelu}, {2, -1, 0, 6}) == Row{0.5, 0, 0, 1.5});
}

TEST_CASE("PowerSoftmax of a power p is x^p over its denominator, for every even p up to sixteen") {
  const Row x = {0.5, -1.25, 0.75, 1};
  for (const ModelConfig& config : every_variant()) {
    if (config.attention != AttentionKind::kPowerSoftmax) continue;
    CAPTURE(name_of(config.form));
    CAPTURE(config.power);
    double c = 1, offset = 0, sum = 0;
    if (config.form == PowerForm::kStable) c = 1.25 + config.stable_delta;
    if (config.form != PowerForm::kPlain) offset = config.epsilon;
    if (config.form == PowerForm::kLengthAgnostic) offset *= 4;
    for (double value : x) sum += std::pow(value / c, config.power);
    const Row w = weigh(config, x);
    for (int j = 0; j < 4; ++j)
      CHECK(w[j] == doctest::Approx(std::pow(x[j] / c, config.power) / (offset + sum)));
  }
}

TEST_CASE("the gradient of every variant agrees with finite differences") {
  for (const ModelConfig& config : every_variant())
    for (int length : {1, 2, 7}) {
      CAPTURE(name_of(config.attention));
      CAPTURE(name_of(config.form));
      CAPTURE(config.power);
      const Row x = random_row(length, 10 + length), g = random_row(length, 99), w = weigh(config, x);
      Row grad(length);
      row_weights_vjp(config, x.data(), w.data(), g.data(), length, grad.data());
      for (int j = 0; j < length; ++j) {
        const double step = 1e-6;
        Row up = x, down = x;
        up[j] += step, down[j] -= step;
        const Row w_up = weigh(config, up), w_down = weigh(config, down);
        double numeric = 0;
        for (int i = 0; i < length; ++i) numeric += g[i] * (w_up[i] - w_down[i]) / (2 * step);
        CHECK(grad[j] == doctest::Approx(numeric).epsilon(1e-5));
      }
    }
}

}  // namespace
}  // namespace psm::attention
