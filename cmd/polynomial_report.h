// The polynomials of a model for people and machines: interval, degree, depth and certified error of each.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attention/polynomial_model.h"
#include "ckks/base/json.h"

namespace psm {

std::string approximations_table(const PolynomialModel& model);
Json approximations_json(const PolynomialModel& model);

// How often values on these sequences leave the intervals, function by function.
std::string range_use_table(const std::vector<RangeUse>& uses);
Json range_use_json(const std::vector<RangeUse>& uses);

}  // namespace psm
