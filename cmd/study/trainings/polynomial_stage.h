// The end of the recipe on a text: a model after range minimisation, its denominators brought under the
// recipe's bound (train/stages/score_scale.h), and its polynomial form, scored on the held-out windows that
// trainings end with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cmd/study/trainings/text_study.h"

namespace psm::cmd {

struct PolynomialStage {
  train::Evaluation held_out;       // of the polynomial model
  double spread = 0;                // max/min of the denominators on training text, the largest of the layers
  int64_t values = 0, outside = 0;  // held-out values where an interval matters, and those that leave it
};

// With intervals `margin` times wider than training text needs; none: as PolynomialOptions has it. Remembered
// as a part of the experiment.
PolynomialStage polynomial_stage(StudyContext& context, const TextStudy& text, const std::string& part,
                                 const attention::ModelWeights& ranged, std::optional<double> margin);

}  // namespace psm::cmd
