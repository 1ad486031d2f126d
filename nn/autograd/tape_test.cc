#include "nn/autograd/tape.h"

#include <cstdint>

#include "doctest/doctest.h"
#include "nn/layers/activations.h"
#include "nn/layers/embedding.h"
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

TEST_CASE("steps that need a little more each time do not add up") {
  Tape<float> tape;
  for (size_t step = 0; step < 20; ++step) {
    tape.restart();
    for (int i = 0; i < 3; ++i) tape.array((size_t{2} << 20) + (step << 10));
    CHECK(tape.arena().growths() <= 6);
  }
}

TEST_CASE(
    "gradients begin at zero on every step: those added to, those used twice and those of outputs nobody "
    "reads") {
  Tape<double> tape;
  std::vector<double> x = {1, 2, 3}, x_grad(3), row = {1, 1, 1}, row_grad(3);
  const Tensor<double> in{x.data(), x_grad.data(), 1, 3}, w{row.data(), row_grad.data(), 1, 3};
  for (int step = 1; step <= 2; ++step) {
    tape.restart();
    std::fill_n(tape.array(1000), 1000, -7.0);  // what lay there on another step
    tape.restart();
    const Tensor<double> twice = add(tape, in, in), unread = add(tape, twice, in);
    const Tensor<double> square = multiply(tape, twice, twice);  // 4 x^2
    tape.backward(linear<double>(tape, square, w, {}));
    for (size_t i = 0; i < 3; ++i) {
      CHECK(x_grad[i] == step * 8 * x[i]);
      CHECK(row_grad[i] == step * square.value[i]);
    }
    CHECK(unread.grad == nullptr);  // given back
  }
}

TEST_CASE("gradients of a long chain take the memory of two tensors") {
  constexpr int kRows = 4000, kLayers = 20;  // a MB each, three in a chunk of the arena
  std::vector<float> w(64 * 64, 0.1f), gw(w.size());
  size_t values_alone = 0;
  for (const Gradients gradients : {Gradients::kNone, Gradients::kKept}) {
    Tape<float> tape(gradients);
    Tensor<float> x = tape.tensor(kRows, 64);
    std::fill(x.value, x.value + x.size(), 1.0f);
    for (int i = 0; i < kLayers; ++i) x = linear<float>(tape, x, {w.data(), gw.data(), 64, 64}, {});
    const Tensor<float> first = first_rows(tape, x, kRows);
    const Tensor<float> sum = linear<float>(tape, first, {w.data(), gw.data(), 1, 64}, {});
    if (gradients == Gradients::kKept) tape.backward(sum);
    const size_t chunks = tape.arena().growths();
    if (gradients == Gradients::kNone) values_alone = chunks;
    CHECK(chunks <= values_alone + 2);
  }
}

}  // namespace
}  // namespace psm::nn
