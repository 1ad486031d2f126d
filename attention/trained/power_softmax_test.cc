#include "attention/trained/power_softmax.h"

#include <cmath>
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
  ModelConfig config;
  config.form = form, config.power = power, config.epsilon = epsilon;
  return config;
}

Row weigh(const ModelConfig& config, const Row& x) {
  Row w(x.size());
  power_softmax(config, x.data(), static_cast<int>(x.size()), w.data());
  return w;
}

double total(const Row& w) {
  double sum = 0;
  for (double x : w) sum += x;
  return sum;
}

TEST_CASE("plain PowerSoftmax is x^p over the sum of x^p and sums to one") {
  const Row w = weigh(with(PowerForm::kPlain, 4, 0), {1, -2, 0, 3});
  CHECK(w[0] == doctest::Approx(1.0 / 98));
  CHECK(w[1] == doctest::Approx(16.0 / 98));
  CHECK(w[2] == 0);
  CHECK(w[3] == doctest::Approx(81.0 / 98));
  CHECK(total(weigh(with(PowerForm::kPlain, 6, 0), random_row(9, 1))) == doctest::Approx(1));
}

TEST_CASE("without epsilon all forms are the same function") {
  const Row x = random_row(11, 2), plain = weigh(with(PowerForm::kPlain, 4, 0), x);
  for (PowerForm form : kAllForms) {
    const Row w = weigh(with(form, 4, 0), x);
    for (size_t j = 0; j < x.size(); ++j) CHECK(w[j] == doctest::Approx(plain[j]));
  }
}

TEST_CASE("epsilon is added to the sum in the Lipschitz form and to the mean in the length-agnostic one") {
  const ModelConfig agnostic = with(PowerForm::kLengthAgnostic, 2, 0.5);
  CHECK(weigh(with(PowerForm::kLipschitz, 2, 0.5), {1, 2})[1] == doctest::Approx(4 / 5.5));
  CHECK(weigh(agnostic, {1, 2})[1] == doctest::Approx(4.0 / 2 / (2.5 + 0.5)));
  CHECK(length_agnostic_denominator(agnostic, Row{1, 2}.data(), 2) == doctest::Approx(3));
}

TEST_CASE("repeating a row leaves the length-agnostic denominator as it is and halves the weights") {
  const ModelConfig config = with(PowerForm::kLengthAgnostic, 4, 0.1);
  const Row x = random_row(5, 3);
  Row twice = x;
  twice.insert(twice.end(), x.begin(), x.end());
  CHECK(length_agnostic_denominator(config, twice.data(), 10) ==
        doctest::Approx(length_agnostic_denominator(config, x.data(), 5)));
  CHECK(weigh(config, twice)[2] == doctest::Approx(weigh(config, x)[2] / 2));
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

}  // namespace
}  // namespace psm::attention
