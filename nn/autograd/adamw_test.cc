#include "nn/autograd/adamw.h"

#include <cmath>
#include <limits>

#include "doctest/doctest.h"

namespace psm::nn {
namespace {

TEST_CASE("the first step moves every weight by the learning rate against its gradient's sign") {
  AdamW adamw({.decay = 0, .clip = 1e9}, {false, false});
  std::vector<float> w = {1, -1}, g = {0.3f, -20};
  CHECK(adamw.step(w, g, 0.01) == doctest::Approx(std::sqrt(0.09 + 400)));
  CHECK(w[0] == doctest::Approx(0.99));
  CHECK(w[1] == doctest::Approx(-0.99));
}

TEST_CASE("decay shrinks matrices and leaves the others") {
  AdamW adamw({.decay = 0.5}, {true, false});
  std::vector<float> w = {1, 1}, g = {0, 0};
  adamw.step(w, g, 0.1);
  CHECK(w[0] == doctest::Approx(0.95));
  CHECK(w[1] == 1);
}

TEST_CASE("a gradient that is longer than the clip counts with its length cut to it") {
  const AdamWOptions options{.clip = 1};
  AdamW adamw(options, {false, false});
  std::vector<float> w = {0, 0}, g = {30, -40};
  CHECK(adamw.step(w, g, 0.1) == doctest::Approx(50));
  CHECK(adamw.state().m[0] == doctest::Approx((1 - options.beta1) * 0.6));
  CHECK(adamw.state().m[1] == doctest::Approx((1 - options.beta1) * -0.8));
}

TEST_CASE("a gradient that is not finite changes nothing") {
  AdamW adamw({}, {true});
  std::vector<float> w = {1}, g = {std::numeric_limits<float>::quiet_NaN()};
  CHECK_FALSE(std::isfinite(adamw.step(w, g, 0.1)));
  CHECK(w[0] == 1);
  CHECK(adamw.state().steps == 0);
}

TEST_CASE("the learning rate warms up, peaks and ends at its floor") {
  const LearningRate rate{1.0, 10, 110, 0.1};
  CHECK(rate.at(0) == doctest::Approx(0.1));
  CHECK(rate.at(9) == doctest::Approx(1.0));
  CHECK(rate.at(10) == doctest::Approx(1.0));
  CHECK(rate.at(60) == doctest::Approx(0.55));
  CHECK(rate.at(110) == doctest::Approx(0.1));
  CHECK(rate.at(5000) == doctest::Approx(0.1));
}

}  // namespace
}  // namespace psm::nn
