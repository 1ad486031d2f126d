// evaluate() for a model in its polynomial form.
#pragma once

#include "attention/reference/polynomial_model.h"
#include "train/evaluation/evaluation.h"

namespace psm::train {

// Shows a progress bar.
inline Evaluation evaluate_polynomial(const attention::PolynomialModel& model, const Batch& batch) {
  return evaluate(attention::BatchedModel(model.weights, attention::polynomial_functions(model)), batch,
                  "scoring the polynomial model");
}

}  // namespace psm::train
