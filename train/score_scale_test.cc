#include "train/score_scale.h"

#include <cmath>

#include "attention/reference_forward.h"
#include "doctest/doctest.h"
#include "train/recall_task.h"

namespace psm {
namespace {

ModelWeights model_of(const RecallTask& task) {
  ModelConfig config;
  config.vocab = task.vocab(), config.context = task.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.form = PowerForm::kPlain;
  ModelWeights weights = random_weights(config, 3);
  for (float& w : weights.layers[1].wq) w *= 20;  // far from where it should be
  return weights;
}

TEST_CASE("every head's denominators get the geometric mean that is asked for") {
  const RecallTask task({3, 4, 2, 12});
  const Batch examples = task.test(8, 1);
  const ModelWeights scaled = with_score_scale(model_of(task), examples, 2.5);
  std::vector<double> logs(4);
  std::vector<int> rows(4);
  ReferenceHooks hooks;
  int head = 0;
  hooks.observe = [&](Site site, int layer, int, std::span<const double> scores) {
    if (site == Site::kResidual) head = 0;
    if (site != Site::kScores) return;
    double d = 0;
    for (double s : scores) d += std::pow(s, 4) / static_cast<double>(scores.size());
    // The reference takes all rows of one head before the next.
    const int which = 2 * layer + head++ / examples.length;
    logs[which] += std::log(d), ++rows[which];
  };
  for (int s = 0; s < examples.sequences; ++s)
    reference_forward(scaled, std::span(examples.tokens).subspan(s * examples.length, examples.length),
                      hooks);
  for (int h = 0; h < 4; ++h) {
    CAPTURE(h);
    REQUIRE(rows[h] == examples.sequences * examples.length);
    CHECK(std::exp(logs[h] / rows[h]) == doctest::Approx(2.5).epsilon(1e-3));
  }
}

TEST_CASE("plain PowerSoftmax gives the same logits at every scale") {
  const RecallTask task({3, 4, 2, 12});
  const Batch examples = task.test(4, 1);
  const ModelWeights weights = model_of(task), scaled = with_score_scale(weights, examples, 0.01);
  const std::span tokens = std::span(examples.tokens).first(examples.length);
  const ForwardResult a = reference_forward(weights, tokens), b = reference_forward(scaled, tokens);
  CHECK(scaled.layers[1].wq != weights.layers[1].wq);
  for (std::size_t i = 0; i < a.logits.size(); ++i)
    CHECK(b.logits[i] == doctest::Approx(a.logits[i]).epsilon(1e-4));
}

TEST_CASE("a head without scores is left alone") {
  const RecallTask task({3, 4, 2, 12});
  ModelWeights weights = model_of(task);
  std::fill(weights.layers[0].wq.begin(), weights.layers[0].wq.end(), 0.0f);
  std::fill(weights.layers[0].bq.begin(), weights.layers[0].bq.end(), 0.0f);
  const ModelWeights scaled = with_score_scale(weights, task.test(4, 1), 1);
  CHECK(scaled.layers[0].wq == weights.layers[0].wq);
}

}  // namespace
}  // namespace psm
