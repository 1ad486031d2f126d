// Real data that tests check against where it is at hand: files in ../shared/data next to the repository.
// They are no part of it. A case that needs one belongs to the suite "external" of a psm_test with `external
// = True`; where the file is missing it says so and ends, and .ci/run counts its test as skipped:
//
//     TEST_CASE("..." * doctest::test_suite("external")) {
//       const auto path = shared_data("model/tok512.bin");
//       if (!path) return;
#pragma once

#include <optional>
#include <string>

namespace psm {

// The path of a file there; nothing, after a line that says so, if it is missing.
std::optional<std::string> shared_data(const std::string& name);

}  // namespace psm
