// The largest error of every value of a plan: what sharing a result rests on (scheme/sharing/flooding.h).
// Averages are in noise.h.
//
// Two bounds for each value, over all slots and in units of the encrypted values: `size`, the largest
// absolute value without error, and `error`. Both follow from triangle inequalities
// (scheme/errors/worst_case.h), from the sizes of the inputs, and from the ranges that the program promises:
// a check on all slots, and |re|, |im| <= 1 where a value is bootstrapped. The client's commands refuse
// prompts that leave a range, so the promises hold; nothing measured enters.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/linalg/transform_worst_case.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/errors/worst_case.h"

namespace psm::program {

// By value id, inputs encrypted under the public key at plan.input_levels. `input_sizes`: the largest
// absolute value of each input by name. `bootstrap` may be null if the plan has none. Throws Error for
// weights without values.
std::vector<ckks::SlotBound> worst_case_errors(const Plan& plan, const ckks::WorstCaseModel& model,
                                               const ckks::BootstrapPlan* bootstrap,
                                               const std::map<std::string, double>& input_sizes);

}  // namespace psm::program
