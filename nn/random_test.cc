#include "nn/random.h"

#include <cmath>

#include "doctest/doctest.h"

namespace psm {
namespace {

TEST_CASE("the same seed gives the same stream and another seed another one") {
  Random a(7), b(7), c(8);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const auto x = a.next();
    CHECK(x == b.next());
    differs |= x != c.next();
  }
  CHECK(differs);
}

TEST_CASE("a restored state goes on with the same stream") {
  Random a(7);
  for (int i = 0; i < 5; ++i) a.normal();
  Random b(0);
  b.set_state(a.state());
  for (int i = 0; i < 20; ++i) CHECK(a.normal() == b.normal());
}

TEST_CASE("below is uniform over its range and normal has mean 0 and variance 1") {
  Random random(1);
  int count[5] = {};
  for (int i = 0; i < 50000; ++i) ++count[random.below(5)];
  for (int c : count) CHECK(std::abs(c - 10000) < 500);  // more than 5 standard deviations
  double sum = 0, squares = 0;
  const int draws = 100000;
  for (int i = 0; i < draws; ++i) {
    const double x = random.normal();
    sum += x, squares += x * x;
  }
  CHECK(std::abs(sum / draws) < 0.02);
  CHECK(std::abs(squares / draws - 1) < 0.03);
}

}  // namespace
}  // namespace psm
