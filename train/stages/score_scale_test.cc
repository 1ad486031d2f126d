#include "train/stages/score_scale.h"

#include <algorithm>
#include <cmath>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/measure.h"
#include "ckks/base/testing/check.h"
#include "doctest/doctest.h"
#include "train/data/recall_task.h"

namespace psm::train {
namespace {

const RecallTask kTask({3, 4, 2, 12});

attention::ModelWeights model() {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.form = attention::PowerForm::kPlain;
  attention::ModelWeights weights = attention::random_weights(config, 3);
  for (float& w : weights.layers[1].wq) w *= 20;  // far from where it should be
  return weights;
}

TEST_CASE("every head's denominators get the geometric mean that is asked for") {
  const Batch examples = kTask.test(8, 1);
  const attention::ModelWeights scaled = with_score_scale(model(), examples, 2.5);
  std::vector<double> logs(4);
  std::vector<int> rows(4);
  attention::ReferenceHooks hooks;
  int head = 0;
  hooks.observe = [&](attention::Site site, int layer, int, std::span<const double> scores) {
    if (site == attention::Site::kResidual) head = 0;
    if (site != attention::Site::kScores) return;
    double d = 0;
    for (double s : scores) d += std::pow(s, 4) / static_cast<double>(scores.size());
    // The reference takes all rows of one head before the next.
    const int which = 2 * layer + head++ / examples.length;
    logs[which] += std::log(d), ++rows[which];
  };
  for (int s = 0; s < examples.sequences; ++s)
    attention::reference_forward(
        scaled, std::span(examples.tokens).subspan(s * examples.length, examples.length), hooks);
  for (int h = 0; h < 4; ++h) {
    CAPTURE(h);
    REQUIRE(rows[h] == examples.sequences * examples.length);
    CHECK(std::exp(logs[h] / rows[h]) == doctest::Approx(2.5).epsilon(1e-3));
  }
}

TEST_CASE("rows of texts that are filled up have their own tokens as keys, and a model may have no biases") {
  attention::ModelConfig config = attention::preset("roberta");
  config.vocab = 9, config.context = 12, config.classes = 2;
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.biases = false;
  const attention::ModelWeights weights = attention::random_weights(config, 3);
  Batch alone, filled;
  alone.sequences = filled.sequences = 2, alone.length = 4, filled.length = 6;
  alone.tokens = {1, 2, 3, 4, 4, 7, 6, 5};
  for (const std::vector<int>& text : alone.texts()) {
    filled.tokens.insert(filled.tokens.end(), text.begin(), text.end());
    filled.tokens.insert(filled.tokens.end(), {8, 8});
    filled.lengths.push_back(4);
  }
  const attention::ModelWeights a = with_score_scale(weights, alone, 2.5),
                                b = with_score_scale(weights, filled, 2.5);
  CHECK(a.layers[1].wq != weights.layers[1].wq);
  float worst = 0;
  for (size_t i = 0; i < a.layers[1].wq.size(); ++i)
    worst = worse(worst, std::abs(b.layers[1].wq[i] - a.layers[1].wq[i]));
  CHECK(worst < 1e-5f);
}

TEST_CASE("plain PowerSoftmax gives the same logits at every scale") {
  const Batch examples = kTask.test(4, 1);
  for (const bool offset : {false, true}) {
    attention::ModelWeights weights = model();
    weights.config.score_offset = offset;
    if (offset)
      for (attention::LayerWeights& layer : weights.layers) layer.score_offset = {4, 1};
    const attention::ModelWeights scaled = with_score_scale(weights, examples, 0.01);
    const std::span tokens = std::span(examples.tokens).first(examples.length);
    const attention::ForwardResult a = attention::reference_forward(weights, tokens),
                                   b = attention::reference_forward(scaled, tokens);
    CHECK(scaled.layers[1].wq != weights.layers[1].wq);
    for (size_t i = 0; i < a.logits.size(); ++i)
      CHECK(b.logits[i] == doctest::Approx(a.logits[i]).epsilon(1e-4));
  }
}

TEST_CASE("a head without scores is left alone") {
  attention::ModelWeights weights = model();
  std::fill(weights.layers[0].wq.begin(), weights.layers[0].wq.end(), 0.0f);
  std::fill(weights.layers[0].bq.begin(), weights.layers[0].bq.end(), 0.0f);
  const attention::ModelWeights scaled = with_score_scale(weights, kTask.test(4, 1), 1);
  CHECK(scaled.layers[0].wq == weights.layers[0].wq);
}

TEST_CASE("denominators that span too much are brought to the bound, the others left") {
  const Batch examples = kTask.test(8, 1);
  attention::ModelWeights weights = model();
  weights.config.form = attention::PowerForm::kLengthAgnostic;
  weights.config.epsilon = 0.01;
  const attention::Ranges before = attention::measure_ranges(weights, examples.examples());
  const auto ratio = [](const attention::Ranges& ranges, int layer) {
    return ranges.layers[layer].denominator.hi / ranges.layers[layer].denominator.lo;
  };
  REQUIRE(ratio(before, 1) > 4 * ratio(before, 0));
  const double bound = 2 * ratio(before, 0);
  attention::ModelWeights bounded = weights;
  CHECK(bound_denominators(bounded, before, bound));
  const attention::Ranges after = attention::measure_ranges(bounded, examples.examples());
  CHECK(bounded.layers[0].wq == weights.layers[0].wq);
  CHECK(ratio(after, 0) == ratio(before, 0));
  // Layer 1 reads what layer 0 left, which has not changed.
  CHECK(ratio(after, 1) == doctest::Approx(0.99 * bound).epsilon(1e-4));
  CHECK(!bound_denominators(bounded, after, bound));
}

}  // namespace
}  // namespace psm::train
