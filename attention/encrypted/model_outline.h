// What whoever computes on encrypted weights (decode.h) knows of a model: its shape, and the intervals that the
// polynomials hold on. All else is encrypted: matrices, biases, what norms multiply and add, score offsets, and
// the ranges of the features; embeddings stay with the client. Of models whose tokens can be computed one by one.
#pragma once

#include <string>
#include <vector>

#include "attention/reference/polynomial_model.h"
#include "ckks/base/files/json.h"

namespace psm::attention {

struct ModelOutline {
  ModelConfig config;
  // With the margin, and only of 1/sqrt, 1/x and GELU: those of the features and of the final norm are 1.
  Ranges ranges;
  PolynomialOptions options;
};

ModelOutline outline_of(const PolynomialModel&);

Json outline_to_json(const ModelOutline&);
// Throws psm::Error that begins with `what`, on what is no outline.
ModelOutline outline_from_json(const Json&, const std::string& what);

}  // namespace psm::attention
