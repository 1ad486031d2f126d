// Real data that tests check against where it is at hand: files in ../shared/data next to the repository.
// They are no part of it. A case that needs one belongs to the suite "external" of a psm_test with `external
// = True`. If the file is missing, the case says so and ends, and .ci/run counts the test as skipped:
//
//     TEST_CASE("..." * doctest::test_suite("external")) {
//       const auto path = shared_data("model/tok512.bin");
//       if (!path) return;
#pragma once

#include <optional>
#include <string>

namespace psm {

// Returns the path of a file there. If it is missing, prints a line that says so and returns nullopt.
std::optional<std::string> shared_data(const std::string& name);

}  // namespace psm
