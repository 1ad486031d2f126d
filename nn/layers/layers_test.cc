// Every operation's gradient against finite differences in double precision, and values that can be said
// beforehand.
#include <algorithm>
#include <cmath>

#include "ckks/base/testing/check.h"
#include "doctest/doctest.h"
#include "nn/layers/activations.h"
#include "nn/layers/cross_entropy.h"
#include "nn/layers/embedding.h"
#include "nn/layers/linear.h"
#include "nn/layers/norm.h"
#include "nn/layers/range_loss.h"
#include "nn/layers/rotary.h"
#include "nn/testing/gradient_check.h"

namespace psm::nn {
namespace {

using Inputs = std::vector<Tensor<double>>;
using T = Tape<double>;

TEST_CASE("the gradient of linear, with and without bias, agrees with finite differences") {
  GradientCheck({{3, 4}, {5, 4}, {1, 5}}).run([](T& tape, const Inputs& in) {
    return linear(tape, in[0], in[1], in[2]);
  });
  GradientCheck({{3, 4}, {5, 4}}).run([](T& tape, const Inputs& in) {
    return linear(tape, in[0], in[1], {});
  });
}

TEST_CASE("the gradient of LayerNorm and of the row variance agrees with finite differences") {
  GradientCheck({{3, 6}, {1, 6}, {1, 6}}).run([](T& tape, const Inputs& in) {
    return norm(tape, in[0], in[1], in[2], 1e-3);
  });
  GradientCheck({{3, 6}}).run(
      [](T& tape, const Inputs& in) { return row_variances(tape, in[0], /*centred=*/true, 1e-3); });
}

TEST_CASE("a LayerNorm row has mean beta and variance gamma squared") {
  T tape;
  double x[] = {1, 2, 3, 6}, gx[4] = {}, gamma[] = {2, 2, 2, 2}, beta[] = {1, 1, 1, 1}, g[4] = {}, h[4] = {};
  const Tensor<double> y = norm<double>(tape, {x, gx, 1, 4}, {gamma, g, 1, 4}, {beta, h, 1, 4}, 1e-12);
  double mean = 0, square = 0;
  for (int i = 0; i < 4; ++i) mean += y.value[i] / 4, square += (y.value[i] - 1) * (y.value[i] - 1) / 4;
  CHECK(mean == doctest::Approx(1));
  CHECK(square == doctest::Approx(4));
}

TEST_CASE("the gradient of RMSNorm and of the row's mean square agrees with finite differences") {
  GradientCheck({{3, 6}, {1, 6}}).run([](T& tape, const Inputs& in) {
    return norm(tape, in[0], in[1], {}, 1e-3);
  });
  GradientCheck({{3, 6}}).run(
      [](T& tape, const Inputs& in) { return row_variances(tape, in[0], /*centred=*/false, 1e-3); });
}

TEST_CASE("an RMSNorm row has mean square gamma squared, and its mean is kept") {
  T tape;
  double x[] = {1, 2, 3, 6}, gx[4] = {}, gamma[] = {2, 2, 2, 2}, g[4] = {};
  const Tensor<double> y = norm<double>(tape, {x, gx, 1, 4}, {gamma, g, 1, 4}, {}, 1e-12);
  double square = 0;
  for (int i = 0; i < 4; ++i) square += y.value[i] * y.value[i] / 4;
  CHECK(square == doctest::Approx(4));
  CHECK(y.value[3] == doctest::Approx(6 * y.value[0]));
}

TEST_CASE(
    "the gradient of SiLU, sigmoid, products and GELU with the error function and by tanh agrees with finite "
    "differences") {
  GradientCheck({{4, 5}}).run([](T& tape, const Inputs& in) { return swish(tape, in[0], 1.0); });
  GradientCheck({{4, 5}}).run([](T& tape, const Inputs& in) { return sigmoid(tape, in[0]); });
  GradientCheck({{4, 5}}).run(
      [](T& tape, const Inputs& in) { return gated<NormalIntegral<double>>(tape, in[0]); });
  GradientCheck({{4, 5}}).run(
      [](T& tape, const Inputs& in) { return gated<CubicSigmoid<double>>(tape, in[0]); });
  GradientCheck({{4, 5}, {4, 5}}).run([](T& tape, const Inputs& in) {
    return multiply(tape, in[0], multiply(tape, in[0], in[1]));
  });
}

TEST_CASE("GELU with the error function is z Phi(z), within 0.0204 of the paper's identity") {
  T tape;
  std::vector<double> z, grad(801);
  for (int i = -400; i <= 400; ++i) z.push_back(i / 100.0);
  const Tensor<double> in{z.data(), grad.data(), 801, 1};
  const Tensor<double> erf = gated<NormalIntegral<double>>(tape, in), identity = swish(tape, in, kGeluSlope),
                       tanh = gated<CubicSigmoid<double>>(tape, in);
  for (int i = 0; i < 801; ++i) CHECK(std::abs(erf.value[i] - tanh.value[i]) < 0.0005);
  CHECK(tanh.value[500] == doctest::Approx((1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)) / 2));
  CHECK(erf.value[400] == 0);
  CHECK(erf.value[500] == doctest::Approx(0.841344746068543));  // Phi(1)
  CHECK(erf.value[200] == doctest::Approx(-2 * 0.0227501319481792));
  double worst = 0;
  for (int i = 0; i < 801; ++i) worst = worse(worst, std::abs(erf.value[i] - identity.value[i]));
  CHECK(worst < 0.0204);
  CHECK(worst > 0.0203);
}

TEST_CASE("the gradient of learned positions, of the class token and of the first rows agrees") {
  GradientCheck({{6, 4}, {5, 4}}).run([](T& tape, const Inputs& in) {
    return add_positions(tape, in[0], in[1], 3);
  });
  GradientCheck({{6, 4}, {1, 4}}).run([](T& tape, const Inputs& in) {
    return prepend_row(tape, in[1], in[0], 3);
  });
  GradientCheck({{6, 4}}).run([](T& tape, const Inputs& in) { return first_rows(tape, in[0], 3); });
  const std::vector<int> lengths{3, 1};
  GradientCheck({{6, 4}}).run([&](T& tape, const Inputs& in) { return mean_rows(tape, in[0], 3, lengths); });
}

TEST_CASE("a class token comes before each group of patches and is what the first rows are") {
  T tape;
  double x[] = {1, 2, 3, 4, 5, 6}, gx[6] = {}, token[] = {9}, gt[1] = {};
  const Tensor<double> y = prepend_row<double>(tape, {token, gt, 1, 1}, {x, gx, 6, 1}, 3);
  CHECK(std::vector<double>(y.value, y.value + 8) == std::vector<double>{9, 1, 2, 3, 9, 4, 5, 6});
  const Tensor<double> first = first_rows(tape, y, 4);
  CHECK(std::vector<double>(first.value, first.value + 2) == std::vector<double>{9, 9});
  const std::vector<int> lengths{2, 4};
  const Tensor<double> mean = mean_rows(tape, y, 4, lengths), all = mean_rows<double>(tape, y, 4, {});
  CHECK(std::vector<double>(mean.value, mean.value + 2) == std::vector<double>{5, 6});
  CHECK(std::vector<double>(all.value, all.value + 2) == std::vector<double>{3.75, 6});
}

TEST_CASE("the gradient of GELU, of sums and of scaled sums agrees with finite differences") {
  GradientCheck({{4, 5}}).run([](T& tape, const Inputs& in) { return swish(tape, in[0], kGeluSlope); });
  GradientCheck({{2, 3}, {2, 3}, {2, 3}}).run([](T& tape, const Inputs& in) {
    return add(tape, in[0], in[1], add(tape, in[1], in[1], add(tape, in[0], in[2])));
  });
  GradientCheck({{1, 1}, {1, 1}}).run([](T& tape, const Inputs& in) {
    return add_scaled(tape, in[0], in[1], 0.3);
  });
}

TEST_CASE("the gradient of an embedding counts a token as often as it occurs") {
  const std::vector<int> tokens = {2, 0, 2, 1};
  GradientCheck({{4, 3}}).run([&](T& tape, const Inputs& in) { return embed(tape, tokens, in[0]); });
}

TEST_CASE("the gradient of the rotary embedding agrees and lengths are kept") {
  for (int rotary : {2, 4}) {
    const RotaryTable<double> table(3, rotary, 10.0);
    GradientCheck({{6, 8}}).run(
        [&](T& tape, const Inputs& in) { return rotate_pairs(tape, table, in[0], 3, 2); });
    T tape;
    std::vector<double> x = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8}, grad(16);
    const Tensor<double> y = rotate_pairs<double>(tape, table, {x.data(), grad.data(), 2, 8}, 3, 2);
    double before = 0, after = 0;
    for (int f = 0; f < 8; ++f) {
      CHECK(y.value[f] == x[f]);  // position 0 does not turn
      before += x[8 + f] * x[8 + f], after += y.value[8 + f] * y.value[8 + f];
    }
    CHECK(after == doctest::Approx(before));
    CHECK(y.value[8] != doctest::Approx(x[8]));
  }
}

TEST_CASE("the gradient of cross entropy agrees and unscored rows have none") {
  const std::vector<int> targets = {1, -1, 3};
  GradientCheck({{3, 4}}).run(
      [&](T& tape, const Inputs& in) { return cross_entropy(tape, in[0], targets, 0.5); });
  T tape;
  double logits[] = {0, 0, 0, 0, 9, 9, 9, 9}, grad[8] = {};
  const std::vector<int> second_unscored = {2, -1};
  const Tensor<double> loss = cross_entropy<double>(tape, {logits, grad, 2, 4}, second_unscored, 1.0);
  CHECK(loss.value[0] == doctest::Approx(std::log(4.0)));
  tape.backward(loss);
  CHECK(grad[2] == doctest::Approx(-0.75));
  for (int j = 4; j < 8; ++j) CHECK(grad[j] == 0);
}

TEST_CASE("the gradient of the peak and excess losses agrees with finite differences") {
  GradientCheck({{6, 2}}).run(
      [](T& tape, const Inputs& in) { return peak_loss(tape, in[0], nullptr, 2, 0.5); });
  GradientCheck({{6, 2}}).run(
      [](T& tape, const Inputs& in) { return excess_loss(tape, in[0], nullptr, 0.6, 0.5); });
  T tape;
  double x[] = {1, -3, 2, 0.5}, grad[4] = {};
  const Tensor<double> loss = peak_loss<double>(tape, {x, grad, 2, 2}, nullptr, 1, 1.0);
  CHECK(loss.value[0] == 5);
  tape.backward(loss);
  CHECK(grad[0] == 0);
  CHECK(grad[1] == -1);
  CHECK(grad[2] == 1);
  CHECK(excess_loss<double>(tape, {x, grad, 2, 2}, nullptr, 1.5, 2.0).value[0] ==
        doctest::Approx(2 * (1.5 * 1.5 + 0.25)));
}

TEST_CASE("rows that do not count have neither a part in a range loss nor a gradient") {
  const int marks[] = {0, -1, 7, -1, -1};
  double x[] = {1, 4, 2, 3, 9}, grad[5];
  const Tensor<double> rows{x, grad, 5, 1};
  const auto check = [&](auto&& loss_of, double value, std::vector<double> gradient) {
    T tape;
    std::fill(grad, grad + 5, 0.0);
    const Tensor<double> loss = loss_of(tape);
    CHECK(loss.value[0] == doctest::Approx(value));
    tape.backward(loss);
    for (int r = 0; r < 5; ++r) CHECK(grad[r] == doctest::Approx(gradient[r]));
  };
  check([&](T& tape) { return peak_loss(tape, rows, marks, 5, 1.0); }, 2, {0, 0, 1, 0, 0});
  check([&](T& tape) { return peak_loss(tape, rows, marks, 1, 1.0); }, 3, {1, 0, 1, 0, 0});
  check([&](T& tape) { return excess_loss(tape, rows, marks, 0.5, 1.0); }, 2.5, {1, 0, 3, 0, 0});
}

TEST_CASE("the logarithmic width loss counts scored rows outside the interval around their own mean") {
  T tape;
  double x[] = {1, std::exp(2.0), std::exp(50.0), std::exp(4.0)}, grad[4] = {};
  const int targets[] = {3, 0, -1, 1};
  const Tensor<double> loss = log_width_loss<double>(tape, {x, grad, 4, 1}, targets, 0.5, 1.0);
  CHECK(loss.value[0] == doctest::Approx(2 * 1.5 * 1.5));  // logarithms 0, 2, 4 around 2
  tape.backward(loss);
  CHECK(grad[0] == doctest::Approx(-2 * 1.5));  // the mean is held constant
  CHECK(grad[1] == 0);
  CHECK(grad[2] == 0);
  CHECK(grad[3] == doctest::Approx(2 * 1.5 / std::exp(4.0)));
}

}  // namespace
}  // namespace psm::nn
