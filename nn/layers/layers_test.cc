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

TEST_CASE("the gradient of every operation agrees with finite differences") {
  const std::vector<int> tokens = {2, 0, 2, 1}, targets = {1, -1, 3}, lengths = {3, 1};
  const RotaryTable<double> half(3, 2, 10.0), whole(3, 4, 10.0);
  const auto check = [](const char* name, const std::vector<Shape>& inputs, const GradientBuild& build) {
    CAPTURE(name);
    check_gradient(inputs, build);
  };
  check("linear", {{3, 4}, {5, 4}, {1, 5}},
        [](T& t, const Inputs& in) { return linear(t, in[0], in[1], in[2]); });
  check("linear without bias", {{3, 4}, {5, 4}},
        [](T& t, const Inputs& in) { return linear(t, in[0], in[1], {}); });
  check("LayerNorm", {{3, 6}, {1, 6}, {1, 6}},
        [](T& t, const Inputs& in) { return norm(t, in[0], in[1], in[2], 1e-3); });
  check("RMSNorm", {{3, 6}, {1, 6}}, [](T& t, const Inputs& in) { return norm(t, in[0], in[1], {}, 1e-3); });
  for (const bool centred : {false, true})
    check("row variances", {{3, 6}},
          [=](T& t, const Inputs& in) { return row_variances(t, in[0], centred, 1e-3); });
  for (const double slope : {1.0, kGeluSlope})
    check("swish", {{4, 5}}, [=](T& t, const Inputs& in) { return swish(t, in[0], slope); });
  check("sigmoid", {{4, 5}}, [](T& t, const Inputs& in) { return sigmoid(t, in[0]); });
  check("GELU", {{4, 5}}, [](T& t, const Inputs& in) { return gated<NormalIntegral<double>>(t, in[0]); });
  check("GELU by tanh", {{4, 5}},
        [](T& t, const Inputs& in) { return gated<CubicSigmoid<double>>(t, in[0]); });
  check("products", {{4, 5}, {4, 5}},
        [](T& t, const Inputs& in) { return multiply(t, in[0], multiply(t, in[0], in[1])); });
  check("sums", {{2, 3}, {2, 3}, {2, 3}}, [](T& t, const Inputs& in) {
    return add(t, in[0], in[1], add(t, in[1], in[1], add(t, in[0], in[2])));
  });
  check("a scaled sum", {{1, 1}, {1, 1}},
        [](T& t, const Inputs& in) { return add_scaled(t, in[0], in[1], 0.3); });
  check("positions", {{6, 4}, {5, 4}},
        [](T& t, const Inputs& in) { return add_positions(t, in[0], in[1], 3); });
  check("a class token", {{6, 4}, {1, 4}},
        [](T& t, const Inputs& in) { return prepend_row(t, in[1], in[0], 3); });
  check("first rows", {{6, 4}}, [](T& t, const Inputs& in) { return first_rows(t, in[0], 3); });
  check("means of rows", {{6, 4}}, [&](T& t, const Inputs& in) { return mean_rows(t, in[0], 3, lengths); });
  check("an embedding", {{4, 3}}, [&](T& t, const Inputs& in) { return embed(t, tokens, in[0]); });
  for (const auto* table : {&half, &whole})
    check("rotary positions", {{6, 8}},
          [=](T& t, const Inputs& in) { return rotate_pairs(t, *table, in[0], 3, 2); });
  check("cross entropy", {{3, 4}},
        [&](T& t, const Inputs& in) { return cross_entropy(t, in[0], targets, 0.5); });
  check("the peak", {{6, 2}}, [](T& t, const Inputs& in) { return peak_loss(t, in[0], nullptr, 2, 0.5); });
  check("the excess", {{6, 2}},
        [](T& t, const Inputs& in) { return excess_loss(t, in[0], nullptr, 0.6, 0.5); });
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

TEST_CASE("the peak loss moves the largest entry of each group, the excess loss is of all beyond the limit") {
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
