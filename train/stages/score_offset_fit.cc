#include "train/stages/score_offset_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "attention/batched/batched_model.h"
#include "attention/rows/power_softmax.h"
#include "attention/rows/softmax.h"
#include "ckks/base/error.h"

namespace psm::train {
namespace {

constexpr int kCandidates = 13;
constexpr double kLeastWeight = 1e-30;  // what a weight of zero counts as
typedef std::array<double, kCandidates> Divergences;

double candidate(int power, int index) { return power * std::exp2((index - 2) / 2.0); }

void add_divergences(std::span<const float> scores, int power, Divergences& sums) {
  const int length = static_cast<int>(scores.size());
  const std::vector<double> exact(scores.begin(), scores.end());
  std::vector<double> softmax(scores.size()), shifted(scores.size()), weights(scores.size());
  attention::softmax_row(exact.data(), length, softmax.data());
  for (int c = 0; c < kCandidates; ++c) {
    for (int j = 0; j < length; ++j) shifted[j] = exact[j] + candidate(power, c);
    attention::power_softmax_stable(shifted.data(), length, {.power = power, .epsilon = 1e-12},
                                    weights.data());
    for (int j = 0; j < length; ++j)
      if (softmax[j] > 0) sums[c] += softmax[j] * std::log(softmax[j] / std::max(weights[j], kLeastWeight));
  }
}

}  // namespace

attention::ModelWeights with_fitted_offsets(const attention::ModelWeights& softmax,
                                            attention::ModelWeights replaced, const Batch& examples) {
  const attention::ModelConfig& config = softmax.config;
  PSM_CHECK(config.attention == attention::AttentionKind::kSoftmax && replaced.config.has_score_offset());
  const int heads = config.heads, power = replaced.config.power;
  const auto blocks = static_cast<size_t>(config.layers) * heads;
  // For each example, by layer and head.
  std::vector<std::vector<Divergences>> of_examples(static_cast<size_t>(examples.sequences),
                                                    std::vector<Divergences>(blocks, Divergences{}));
  attention::BatchedModel(softmax).run(
      examples.examples(), {.keep_scores = true}, [&](const attention::BatchedPart& part) {
        for (size_t i = 0; i < part.examples.size(); ++i)
          for (size_t block = 0; block < blocks; ++block)
            for (int t = 0; t < part.lengths[i]; t += kRowStep)
              add_divergences(attention::score_row(config, part, i, static_cast<int>(block) / heads,
                                                   static_cast<int>(block) % heads, t),
                              power, of_examples[part.examples[i]][block]);
      });
  for (size_t block = 0; block < blocks; ++block) {
    Divergences sums{};
    for (const std::vector<Divergences>& one : of_examples)
      for (int c = 0; c < kCandidates; ++c) sums[c] += one[block][c];
    const auto best = std::min_element(sums.begin(), sums.end()) - sums.begin();
    replaced.layers[block / heads].score_offset[block % heads] =
        static_cast<float>(candidate(power, static_cast<int>(best)));
  }
  return replaced;
}

}  // namespace psm::train
