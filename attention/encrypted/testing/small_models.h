// Polynomial models small enough for tests of tokens one by one.
#pragma once

#include <cstdint>
#include <vector>

#include "attention/reference/polynomial_model.h"

namespace psm::attention {

constexpr int kSmallContext = 16;

// Two layers, 13 tokens.
ModelConfig small_config(int width, int heads, int ffn, double rotary_fraction = 0.5);

// Texts that fill the context.
std::vector<std::vector<int>> random_texts(int count, const ModelConfig&, uint64_t seed);

// Random weights with biases and score offsets that are not zero.
PolynomialModel lively_model(const ModelConfig&, bool client_norm);

}  // namespace psm::attention
