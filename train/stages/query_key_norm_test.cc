#include "train/stages/query_key_norm.h"

#include <array>
#include <cmath>

#include "doctest/doctest.h"
#include "train/data/recall_task.h"
#include "train/stages/trainer.h"

namespace psm::train {
namespace {

const RecallTask kTask({3, 4, 2, 12});

attention::ModelConfig model() {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.form = attention::PowerForm::kStable;
  return config;
}

double head_norm(const std::vector<float>& matrix, int head) {
  const size_t size = matrix.size() / 2;
  double squares = 0;
  for (size_t i = head * size; i < (head + 1) * size; ++i) squares += matrix[i] * matrix[i];
  return std::sqrt(squares);
}

attention::ModelWeights trained(const QueryKeyHold& hold) {
  TrainerOptions options;
  options.batch = 8;
  options.rate = {1e-2, 1, 30, 1.0};
  options.query_key_hold = hold;
  Trainer trainer(attention::random_weights(model(), 3), kTask, options);
  for (int i = 0; i < 30; ++i) trainer.step();
  return trainer.weights();
}

TEST_CASE(
    "a fixed norm is each head's own of the beginning; without it training lengthens it, and decay less") {
  const attention::ModelWeights start = attention::random_weights(model(), 3), free = trained({}),
                                fixed = trained({.fixed = true}), decayed = trained({.decay = 1});
  for (size_t n = 0; n < start.layers.size(); ++n)
    for (int head = 0; head < 2; ++head) {
      const auto norms = [&](const attention::ModelWeights& weights) {
        return std::array{head_norm(weights.layers[n].wq, head), head_norm(weights.layers[n].wk, head)};
      };
      for (size_t matrix = 0; matrix < 2; ++matrix) {
        CHECK(norms(fixed)[matrix] == doctest::Approx(norms(start)[matrix]).epsilon(1e-5));
        CHECK(norms(free)[matrix] > norms(start)[matrix]);
        CHECK(norms(decayed)[matrix] < norms(free)[matrix]);
      }
    }
  CHECK(fixed.layers[0].wq != start.layers[0].wq);
  CHECK(fixed.layers[0].wv != free.layers[0].wv);
}

}  // namespace
}  // namespace psm::train
