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

TEST_CASE(
    "gradients begin at zero on every step: those added to, those used twice and those of outputs nobody "
    "reads") {
  Tape<double> tape;
  const std::vector<double> x = {1, 2, 3};
  for (int step = 0; step < 2; ++step) {
    tape.restart();
    const Tensor<double> in = tape.tensor(1, 3);
    std::copy(x.begin(), x.end(), in.value);
    const Tensor<double> twice = add(tape, in, in), unread = add(tape, twice, in);
    const Tensor<double> square = multiply(tape, twice, twice);  // 4 x^2
    std::vector<double> row = {1, 1, 1}, row_grad(3);
    const Tensor<double> sum = linear<double>(tape, square, {row.data(), row_grad.data(), 1, 3}, {});
    for (const Tensor<double>& t : {in, twice, unread, square})
      std::fill_n(t.grad, 3, -7.0);  // of another step
    tape.backward(sum);
    for (size_t i = 0; i < 3; ++i) {
      CHECK(unread.grad[i] == 0);
      CHECK(square.grad[i] == 1);
      CHECK(in.grad[i] == 8 * x[i]);
      CHECK(row_grad[i] == square.value[i]);
    }
  }
}

}  // namespace
}  // namespace psm::nn
