#include "attention/attention_ops.h"

#include "doctest/doctest.h"
#include "nn/gradient_check.h"

namespace psm {
namespace {

using Inputs = std::vector<Tensor<double>>;

const AttentionShape kShape{2, 3, 2, 2};  // 2 sequences of 3 tokens, 2 heads of 2

ModelConfig with(AttentionKind kind, PowerForm form) {
  ModelConfig config;
  config.attention = kind, config.form = form, config.epsilon = 0.2, config.stable_delta = 0.05;
  return config;
}

TEST_CASE("the gradient of attention with every kind of weights agrees with finite differences") {
  for (AttentionKind kind : {AttentionKind::kSoftmax, AttentionKind::kPowerSoftmax})
    for (PowerForm form :
         {PowerForm::kPlain, PowerForm::kLipschitz, PowerForm::kStable, PowerForm::kLengthAgnostic}) {
      CAPTURE(name_of(kind));
      CAPTURE(name_of(form));
      const ModelConfig config = with(kind, form);
      GradientCheck({{6, 4}, {6, 4}, {6, 4}})
          .run(
              [&](Tape<double>& tape, const Inputs& in) {
                const Tensor<double> scores = attention_scores(tape, kShape, in[0], in[1]);
                return attention_mixture(tape, kShape, attention_weights(tape, kShape, config, scores),
                                         in[2]);
              },
              1e-5);
    }
}

TEST_CASE("the gradient of the denominators agrees with finite differences") {
  for (int power : {2, 4, 6}) {
    ModelConfig config = with(AttentionKind::kPowerSoftmax, PowerForm::kLengthAgnostic);
    config.power = power;
    GradientCheck({{6, 4}, {6, 4}})
        .run(
            [&](Tape<double>& tape, const Inputs& in) {
              return attention_denominators(tape, kShape, config,
                                            attention_scores(tape, kShape, in[0], in[1]));
            },
            1e-5);
  }
}

TEST_CASE("what comes after the query has no weight and the rest of a softmax row sums to one") {
  Tape<double> tape;
  std::vector<double> q(24), k(24), grad(24);
  for (int i = 0; i < 24; ++i) q[i] = 0.1 * i, k[i] = 1 - 0.05 * i;
  const Tensor<double> scores =
      attention_scores<double>(tape, kShape, {q.data(), grad.data(), 6, 4}, {k.data(), grad.data(), 6, 4});
  const Tensor<double> w =
      attention_weights(tape, kShape, with(AttentionKind::kSoftmax, PowerForm::kStable), scores);
  for (int r = 0; r < w.rows; ++r) {
    double sum = 0;
    for (int j = 0; j < 3; ++j) {
      if (j > r % 3) CHECK(w.row(r)[j] == 0);
      sum += w.row(r)[j];
    }
    CHECK(sum == doctest::Approx(1));
  }
}

}  // namespace
}  // namespace psm
