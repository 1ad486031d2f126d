// The precision that chance leaves a bootstrap, for tests under fresh keys.
#pragma once

#include <cmath>

#include "ckks/base/testing/chance.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/bootstrap/precision.h"

namespace psm::ckks {

// The predicted deviation of rounding is that of the model, not of one key and one slot: half a bit is left to it.
inline const double kModel = std::sqrt(2.0);

// Bits that a bootstrap of values in [-1, 1] + i [-1, 1] keeps over `slots` slots, each of the two but once in a
// million runs. A component's error is d + g, as in error_model.h: |d| is largest at the ends of the range, and g is
// rounding, Laplace of the predicted deviation. Errors of `independent` slots are, where values repeat.
inline Precision least_precision(const BootstrapPlan& plan, size_t independent, size_t slots) {
  const double end[] = {1.0};
  const BootstrapError e = predict_error(plan, end);
  return {-std::log2(e.polynomial + e.rounding * mean_laplace(independent).high),
          -std::log2(e.polynomial + kModel * e.rounding * largest_laplace(2 * slots))};
}

// How far the mean error over so many slots may be from the predicted one, in bits: half a bit for the model, which
// takes rounding for normal, and chance.
inline double mean_tolerance_bits(size_t slots) {
  return std::log2(kModel) - std::log2(std::sqrt(2.0) * mean_laplace(slots).low);
}

}  // namespace psm::ckks
