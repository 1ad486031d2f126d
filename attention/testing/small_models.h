// Small models for tests, what they read, and how far a slot program is from the model that it computes.
// Equal arguments give equal results.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attention/reference/polynomial_model.h"
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

// Infinite if one is not a number. The lists have the same length.
double largest_difference(std::span<const double> a, std::span<const double> b);

constexpr int kSmallContext = 16;

// Two layers of GPT-NeoX's, 13 words.
ModelConfig small_config(int width, int heads, int ffn, double rotary_fraction = 0.5);

// Rough weights, made polynomial on intervals twice as wide as 64 examples ask for.
PolynomialModel rough_polynomial(const ModelConfig&, PolynomialOptions options);

// The largest difference of logits between the twin of the slot program and the polynomial model, for as many
// prompts, of different lengths, as the program takes.
double twin_error(const ModelConfig&, size_t slots, const PolynomialOptions& options,
                  int prompts_at_once = 0);

}  // namespace psm::attention
