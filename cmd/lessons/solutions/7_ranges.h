// Solution 7: 1/x by additions and products alone.
#pragma once

#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

inline double inverse(double x, double hi, int iterations) {
  double b = x / hi, out = 1;
  for (int i = 0; i < iterations; ++i) {
    const double factor = 2 - b;
    out *= factor;
    b *= factor;
  }
  return out / hi;
}

}  // namespace psm::lesson
