// A polynomial as a list of steps: plain data, written once for all readers.
//
// Value 0 is the argument v, value i + 1 is the result of step i, and the last value is the polynomial. Three
// readers:
//   * Approximation::evaluate(): on doubles, one or eight at a time (lanes.h);
//   * the counts of depth(), degree() and multiplications();
//   * nn/encrypted/encrypted_function.h: as instructions of a slot program.
#pragma once

#include <utility>
#include <vector>

#include "ckks/base/error.h"

namespace psm::approx {

struct Step {
  enum class Kind { kAdd, kMultiply, kNegate, kAddConstant, kMultiplyConstant, kSeries, kRefresh };
  Kind kind = Kind::kAdd;
  int left = 0;
  int right = 0;                 // of kAdd and kMultiply
  double constant = 0;           // of kAddConstant and kMultiplyConstant
  std::vector<double> series{};  // of kSeries: its Chebyshev coefficients
};

// Writes steps; each member returns the value that it adds.
class Steps {
 public:
  using Value = int;
  static constexpr Value kArgument = 0;

  Value add(Value a, Value b) { return append({Step::Kind::kAdd, a, b}); }
  Value multiply(Value a, Value b) { return append({Step::Kind::kMultiply, a, b}); }
  Value negate(Value a) { return append({Step::Kind::kNegate, a}); }
  Value add_constant(Value a, double c) { return append({Step::Kind::kAddConstant, a, 0, c}); }
  Value multiply_constant(Value a, double c) { return append({Step::Kind::kMultiplyConstant, a, 0, c}); }
  Value series(Value a, std::vector<double> c) {
    return append({Step::Kind::kSeries, a, 0, 0, std::move(c)});
  }
  // The value may be refreshed here. Consecutive refreshes are one refresh of all their values.
  Value refresh(Value a) { return append({Step::Kind::kRefresh, a}); }
  // m a for a small positive integer m, by doubling and adding: no level.
  Value times_integer(Value a, int m) {
    PSM_CHECK(m >= 1, "m ", m);
    if (m == 1) return a;
    const Value half = times_integer(a, m / 2), even = add(half, half);
    return m % 2 == 0 ? even : add(even, a);
  }

  const std::vector<Step>& list() const { return steps_; }

 private:
  Value append(Step step) {
    steps_.push_back(std::move(step));
    return static_cast<Value>(steps_.size());
  }
  std::vector<Step> steps_;
};

}  // namespace psm::approx
