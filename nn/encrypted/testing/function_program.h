// For tests: runs the program of an approximation in the twin and compares it with the approximation's
// claims.
#pragma once

#include "approx/approximation.h"

namespace psm::nn {

struct ProgramReport {
  double worst_difference = 0;  // |program - evaluate_normalised| over the points
  double largest = 0;           // |out|
  int depth = 0;                // counted on the program's longest path
  int refreshes = 0;            // Refresh instructions
  int products = 0;             // kMultiply instructions
};

// Throws psm::Error if a value leaves its range: the input, a series' argument or a refreshed value.
ProgramReport run_program(const approx::Approximation& approximation);

// The same for build_products() on two factors. Differences are those of products.
ProgramReport run_products(const approx::Approximation& approximation);

}  // namespace psm::nn
