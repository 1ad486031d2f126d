// What a search for parameters found, for people and for machines: //cmd:plan --params.
#pragma once

#include <string>
#include <vector>

#include "ckks/base/files/json.h"
#include "ckks/program/planner/parameter_search.h"

namespace psm::cmd {

// The secrets that a word stands for, as Hamming weights (0: dense): "sparse", "dense" or "both". Throws
// Error for others.
std::vector<int> secrets_named(const std::string& word);

// A table of the proposals; primes, digits, factors and reasons of the first, reasons of all.
std::string parameter_report(const program::ParameterSearch& search);
Json parameter_json(const program::ParameterWish& wish,
                    const std::vector<program::ParameterSearch>& searches);

}  // namespace psm::cmd
