// Small models of every family for tests, and what they read. The same for the same arguments.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "attention/shape/examples.h"
#include "attention/shape/weights.h"

namespace psm::attention {

// 2 layers of width 16 with 4 heads, 9 tokens of 11 words or 8 patches of 3 numbers. Llama has 2 heads of keys,
// encoders have 3 classes, token 5 parts BERT's texts.
ModelConfig small_family(std::string_view family);

// As a model begins, but no bias is zero and no gamma is 1, and the scores are small, as range minimisation leaves
// them.
ModelWeights rough_weights(const ModelConfig& config);

// What a model reads.
struct SmallData {
  std::vector<std::vector<int>> texts;
  std::vector<std::vector<float>> images;
  Examples examples() const { return images.empty() ? Examples(texts) : Examples(images); }
  // Calls use(example), of the kind that there is.
  template <typename Use>
  auto with(size_t i, Use&& use) const {
    return images.empty() ? use(std::span(texts[i])) : use(std::span(images[i]));
  }
};

// Texts of all lengths from the longest on, or whole images.
SmallData small_data(const ModelConfig& config, int count, uint64_t seed = 5);

}  // namespace psm::attention
