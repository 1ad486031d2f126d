#include "nn/autograd/tape.h"

#include <cstdint>
#include <vector>

#include "doctest/doctest.h"
#include "nn/layers/activations.h"
#include "nn/layers/linear.h"

namespace psm::nn {
namespace {

TEST_CASE("a step after the first asks the system for no memory and finds the same places") {
  Tape<float> tape;
  std::vector<float> w(64 * 64, 0.1f), gw(w.size());
  const float* first = nullptr;
  size_t growths = 0;
  for (int step = 0; step < 3; ++step) {
    tape.restart();
    Tensor<float> x = tape.tensor(2000, 64);
    std::fill(x.value, x.value + x.size(), 1.0f);
    for (int i = 0; i < 8; ++i) x = linear<float>(tape, x, {w.data(), gw.data(), 64, 64}, {});
    if (step == 0) {
      first = x.value;
      growths = tape.arena().growths();
      CHECK(growths > 1);
    }
    CHECK(x.value == first);
    CHECK(tape.arena().growths() == growths);
    CHECK(reinterpret_cast<std::uintptr_t>(x.value) % 64 == 0);
  }
}

TEST_CASE("a tensor used twice collects both gradients") {
  Tape<double> tape;
  double x = 3, grad = 0;
  const Tensor<double> in{&x, &grad, 1, 1};
  const Tensor<double> y = add_scaled(tape, add_scaled(tape, in, in, 2.0), in, 4.0);  // 7 x
  tape.backward(y);
  CHECK(y.value[0] == 21);
  CHECK(grad == 7);
}

}  // namespace
}  // namespace psm::nn
