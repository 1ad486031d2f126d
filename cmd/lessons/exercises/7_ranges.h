// Exercise 7: 1/x by additions and products alone.
#pragma once

#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

// Returns 1/x, nearly, for 0 < x <= hi, by Goldschmidt's iteration. With y = x / hi:
//     b_0 = y, out_0 = 1;    b_{i+1} = b_i (2 - b_i),  out_{i+1} = out_i (2 - b_i)
// b_i goes to 1 and out_i = b_i / y to 1 / y. The result is out_n / hi, n = `iterations`.
inline double inverse(double x, double hi, int iterations) {
  throw ToDo{"inverse() in cmd/lessons/exercises/7_ranges.h"};
}

}  // namespace psm::lesson
