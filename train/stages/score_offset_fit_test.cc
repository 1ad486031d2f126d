#include "train/stages/score_offset_fit.h"

#include <cmath>

#include "attention/batched/batched_model.h"
#include "ckks/base/parallel.h"
#include "doctest/doctest.h"
#include "train/data/recall_task.h"
#include "train/stages/recipe.h"

namespace psm::train {
namespace {

attention::ModelWeights softmax_model(const RecallTask& task, float sharpness) {
  attention::ModelConfig config;
  config.vocab = task.vocab(), config.context = task.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.attention = attention::AttentionKind::kSoftmax;
  attention::ModelWeights weights = attention::random_weights(config, 3);
  for (size_t i = 0; i < weights.layers[1].wq.size() / 2; ++i) weights.layers[1].wq[i] *= sharpness;
  return weights;
}

attention::ModelWeights with_power_softmax(const attention::ModelWeights& softmax) {
  return with_attention(softmax, attention::AttentionKind::kPowerSoftmax, 6, 1e-3, /*score_offset=*/true);
}

TEST_CASE("heads of small scores keep c = p, sharp ones get a larger one, for any number of threads") {
  const RecallTask task({3, 4, 2, 12});
  const attention::ModelWeights softmax = softmax_model(task, 30);
  const Batch examples = task.test(8, 1);
  const int before = thread_count();
  for (int threads = 1; threads <= 2; ++threads) {
    set_thread_count(threads);
    const attention::ModelWeights fitted =
        with_fitted_offsets(softmax, with_power_softmax(softmax), examples);
    CHECK(fitted.layers[0].score_offset == std::vector<float>{6, 6});
    CHECK(fitted.layers[1].score_offset[0] > 8);
    CHECK(fitted.layers[1].score_offset[1] == 6);
  }
  set_thread_count(before);
}

// Returns the logits of each example, one after the other.
std::vector<float> logits_of(const attention::ModelWeights& weights, const Batch& examples) {
  std::vector<std::vector<float>> of_examples(static_cast<size_t>(examples.sequences));
  attention::BatchedModel(weights).run(examples.examples(), {}, [&](const attention::BatchedPart& part) {
    const size_t count = static_cast<size_t>(part.length) * part.out.logits.columns;
    for (size_t i = 0; i < part.examples.size(); ++i) {
      const float* first = part.out.logits.value + i * count;
      of_examples[part.examples[i]].assign(first, first + count);
    }
  });
  std::vector<float> all;
  for (const std::vector<float>& one : of_examples) all.insert(all.end(), one.begin(), one.end());
  return all;
}

TEST_CASE("the fitted model's logits are nearer to softmax's than those of c = p, on other examples too") {
  const RecallTask task({3, 4, 2, 12});
  const attention::ModelWeights softmax = softmax_model(task, 30);
  const Batch examples = task.test(64, 1);
  const attention::ModelWeights replaced = with_power_softmax(softmax);
  const std::vector<float> wanted = logits_of(softmax, examples);
  const auto error = [&](const attention::ModelWeights& weights) {
    const std::vector<float> logits = logits_of(weights, examples);
    double squares = 0;
    for (size_t i = 0; i < logits.size(); ++i) squares += std::pow(logits[i] - wanted[i], 2);
    return std::sqrt(squares);
  };
  CHECK(error(with_fitted_offsets(softmax, replaced, task.test(8, 2))) < 0.7 * error(replaced));
}

}  // namespace
}  // namespace psm::train
