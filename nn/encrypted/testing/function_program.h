// For tests: runs the program of an approximation through the twin and compares it with what it claims.
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

// Throws psm::Error if the twin sees a range left: the input's, a series' or a refreshed value's.
ProgramReport run_program(const approx::Approximation& approximation);

// The same of build_products() on two factors; differences are of products.
ProgramReport run_products(const approx::Approximation& approximation);

}  // namespace psm::nn
