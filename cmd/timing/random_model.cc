#include "cmd/timing/random_model.h"

#include <algorithm>
#include <cmath>

#include "attention/batched/measure.h"
#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"

namespace psm::cmd {
namespace {

constexpr double kVarianceSpan = 6, kDenominatorSpan = 600;

}  // namespace

RandomModel random_model(const attention::ModelConfig& config, uint64_t seed, int prompts, int sequences) {
  PSM_CHECK(prompts >= 1, prompts);
  RandomModel model;
  attention::ModelWeights& weights = model.checkpoint.weights;
  weights = attention::random_weights(config, seed);
  TrainingRandom lengths = TrainingRandom(seed).split(0), tokens = TrainingRandom(seed).split(1);
  const auto width = static_cast<size_t>(config.width);
  for (size_t begin = 0; begin < weights.embedding.size(); begin += width) {
    const double length = std::pow(kVarianceSpan, lengths.uniform(-0.25, 0.25));
    for (size_t i = begin; i < begin + width; ++i) weights.embedding[i] *= static_cast<float>(length);
  }

  std::vector<std::vector<int>> measured(static_cast<size_t>(std::max(prompts, sequences)));
  for (std::vector<int>& sequence : measured) {
    sequence.resize(static_cast<size_t>(config.context));
    for (int& token : sequence) token = static_cast<int>(tokens.integer(static_cast<uint64_t>(config.vocab)));
  }
  double largest = 0;
  for (const attention::LayerRanges& layer : attention::measure_ranges(weights, measured).layers)
    largest = std::max(largest, layer.denominator.hi);
  weights.config.epsilon = largest / kDenominatorSpan;
  model.checkpoint.ranges = attention::measure_ranges(weights, measured);
  model.checkpoint.polynomial = attention::PolynomialOptions{};
  measured.resize(static_cast<size_t>(prompts));
  model.prompts = std::move(measured);
  return model;
}

}  // namespace psm::cmd
