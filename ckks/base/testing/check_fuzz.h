// Runs a fuzz target in a test case: nothing may fail, its corpus must be accepted, and some inputs refused.
#pragma once

#include "ckks/base/testing/fuzz.h"
#include "doctest/doctest.h"

namespace psm {

inline FuzzReport check_fuzz(const FuzzTarget& target, uint64_t inputs = 4000) {
  if (!target.nearly)
    for (const std::string& input : target.corpus) CHECK_NOTHROW(target.decode(input));
  FuzzReport report = fuzz(target, inputs);
  CHECK(report.failure == "");
  CHECK(report.accepted > 0);
  CHECK(report.refused > 0);
  return report;
}

}  // namespace psm
