// Small models for slot programs, and how far a program is from the model that it computes.
#pragma once

#include <cstddef>

#include "attention/reference/polynomial_model.h"
#include "attention/testing/small_families.h"

namespace psm::attention {

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
