#include "cmd/study/trainings/effective_entries.h"

#include "doctest/doctest.h"

namespace psm::cmd {
namespace {

attention::ModelWeights model(attention::AttentionKind kind) {
  attention::ModelConfig config = attention::preset("vit");
  config.attention = kind, config.form = attention::PowerForm::kStable;
  config.layers = 2, config.width = 16, config.heads = 2, config.ffn = 16;
  config.context = 5, config.classes = 2, config.patch_inputs = 3;
  return attention::random_weights(config, 1);
}

train::Batch images() {
  TrainingRandom random(2);
  train::Batch batch;
  batch.sequences = 3, batch.length = 5;
  for (int i = 0; i < 3 * 4 * 3; ++i) batch.patches.push_back(static_cast<float>(random.normal()));
  return batch;
}

TEST_CASE("equal scores rest on all keys, and a high power of large ones on few") {
  attention::ModelWeights even = model(attention::AttentionKind::kSoftmax);
  for (attention::LayerWeights& layer : even.layers)
    for (std::vector<float>* values : {&layer.wq, &layer.bq}) std::fill(values->begin(), values->end(), 0.0f);
  CHECK(effective_entries(even, images()) == doctest::Approx(1).epsilon(1e-5));

  attention::ModelWeights sharp = model(attention::AttentionKind::kPowerSoftmax);
  sharp.config.power = 4;
  const double four = effective_entries(sharp, images());
  sharp.config.power = 12;
  const double twelve = effective_entries(sharp, images());
  CHECK(twelve < four);
  CHECK(twelve >= 0.2);
  CHECK(four < 1);
}

}  // namespace
}  // namespace psm::cmd
