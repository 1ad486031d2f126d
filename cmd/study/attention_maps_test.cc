#include "cmd/study/attention_maps.h"

#include <algorithm>
#include <cmath>

#include "attention/reference/polynomial_model.h"
#include "attention/trained/power_softmax.h"
#include "doctest/doctest.h"
#include "train/data/recall_task.h"

namespace psm::cmd {
namespace {

const train::RecallTask kTask({3, 4, 2, 12});

attention::ModelWeights model_of(attention::AttentionKind kind, attention::PowerForm form) {
  attention::ModelConfig config;
  config.vocab = kTask.vocab(), config.context = kTask.context(), config.attention = kind;
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16, config.form = form;
  return attention::random_weights(config, 1);
}

TEST_CASE("averages, samples and distances are those of the reference forward pass") {
  const train::Batch batch = kTask.validation(20);
  for (const attention::AttentionKind kind :
       {attention::AttentionKind::kSoftmax, attention::AttentionKind::kPowerSoftmax}) {
    const attention::ModelWeights weights = model_of(kind, attention::PowerForm::kStable);
    const attention::ModelConfig& config = weights.config;
    const std::vector<LayerAttention> layers = measure_attention(weights, batch);

    std::vector<std::vector<double>> mean(2, std::vector<double>(12 * 12)), sample = mean;
    std::vector<double> distance(2), mass(2);
    double bound = 0;
    for (int s = 0; s < batch.sequences; ++s) {
      std::vector<int> rows(2);  // seen of each layer: head by head
      const auto observe = [&](attention::Site site, int layer, int t, std::span<const double> scores) {
        if (site != attention::Site::kScores) return;
        for (const double score : scores) bound = std::max(bound, std::abs(score));
        std::vector<double> w(scores.size());
        attention::row_weights(config, scores.data(), static_cast<int>(scores.size()), w.data());
        for (size_t j = 0; j < w.size(); ++j) {
          mean[layer][t * 12 + j] += w[j] / (batch.sequences * config.heads);
          if (s == 0 && rows[layer] < 12) sample[layer][t * 12 + j] = w[j];
          distance[layer] += w[j] * static_cast<double>(t - j);
          mass[layer] += w[j];
        }
        ++rows[layer];
      };
      attention::reference_forward(weights, std::span<const int>(batch.tokens).subspan(s * 12, 12), {},
                                   observe);
    }
    const ScoreRows rows = score_rows(weights, batch);
    CHECK(rows.heads.size() == 20 * 2 * 2);
    for (size_t t = 0; t < 12; ++t) CHECK(rows.heads.back()[t].size() == t + 1);
    CHECK(rows.bound == doctest::Approx(bound).epsilon(1e-4));
    for (int n = 0; n < 2; ++n) {
      CHECK(layers[n].distance == doctest::Approx(distance[n] / mass[n]).epsilon(1e-4));
      for (int i = 0; i < 12 * 12; ++i) {
        CHECK(layers[n].mean[i] == doctest::Approx(mean[n][i]).epsilon(1e-3));
        CHECK(layers[n].sample[i] == doctest::Approx(sample[n][i]).epsilon(1e-3));
      }
    }
  }
}

}  // namespace
}  // namespace psm::cmd
