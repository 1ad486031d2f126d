#include "cmd/study/trainings/score_rows.h"

#include <algorithm>
#include <cmath>

#include "attention/rows/row_weights.h"
#include "cmd/study/trainings/attention_maps.h"
#include "doctest/doctest.h"
#include "train/data/recall_task.h"

namespace psm::cmd {
namespace {

TEST_CASE("the weights of the rows add up to the attention that is measured") {
  const train::RecallTask task({3, 4, 2, 12});
  const train::Batch batch = task.validation(20);
  attention::ModelConfig config;
  config.vocab = task.vocab(), config.context = task.context();
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.form = attention::PowerForm::kLengthAgnostic;
  const attention::ModelWeights weights = attention::random_weights(config, 1);
  const ScoreRows rows = score_rows(weights, batch);
  const std::vector<LayerAttention> layers = measure_attention(weights, batch);
  REQUIRE(rows.heads.size() == 20 * 2 * 2);
  double bound = 0;
  std::vector<std::vector<double>> mean(2, std::vector<double>(12 * 12));
  for (size_t i = 0; i < rows.heads.size(); ++i)
    for (size_t t = 0; t < 12; ++t) {
      const std::vector<double>& row = rows.heads[i][t];
      REQUIRE(row.size() == t + 1);
      for (const double x : row) bound = std::max(bound, std::abs(x));
      std::vector<double> w(row.size());
      attention::row_weights(config, row.data(), static_cast<int>(row.size()), w.data());
      for (size_t j = 0; j < w.size(); ++j) mean[i / 2 % 2][t * 12 + j] += w[j] / 40;
    }
  CHECK(rows.bound == bound);
  for (size_t n = 0; n < 2; ++n)
    for (size_t i = 0; i < 12 * 12; ++i)
      CHECK(mean[n][i] == doctest::Approx(layers[n].mean[i]).epsilon(1e-4));
}

}  // namespace
}  // namespace psm::cmd
