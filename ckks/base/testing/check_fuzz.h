// Runs a fuzz target in a test case: nothing may fail, some inputs must be accepted and some refused. All of the corpus
// must be accepted if it is `valid`.
#pragma once

#include "ckks/base/testing/fuzz.h"
#include "doctest/doctest.h"

namespace psm {

inline FuzzReport check_fuzz(const FuzzTarget& target, uint64_t inputs = 4000, bool valid = true) {
  if (valid)
    for (const std::string& input : target.corpus) CHECK_NOTHROW(target.decode(input));
  FuzzReport report = fuzz(target, inputs);
  CHECK(report.failure == "");
  CHECK(report.accepted > 0);
  CHECK(report.refused > 0);
  return report;
}

}  // namespace psm
