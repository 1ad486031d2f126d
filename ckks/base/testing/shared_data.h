// Real data that tests check against where it is at hand: files in ../shared/data next to the repository.
// They are no part of it. A case that needs one belongs to the suite "external" of a psm_test with `external
// = True`. If the file is missing, the case says so and ends, and .ci/run counts the test as skipped:
//
//     TEST_CASE("..." * doctest::test_suite("external")) {
//       const auto path = shared_data("model/tok512.bin");
//       if (!path) return;
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include "ckks/base/testing/check.h"

namespace psm {

// Returns the path of a file there. If it is missing, prints a line that says so and returns nullopt.
inline std::optional<std::string> shared_data(const std::string& name) {
  // A test stands in a folder of links to the files of the repository; one of them leads to it.
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical("ckks/base/testing/shared_data.h", error);
  while (folder.has_relative_path() && !std::filesystem::exists(folder / "WORKSPACE", error))
    folder = folder.parent_path();
  const std::filesystem::path path = folder.parent_path() / "shared" / "data" / name;
  if (std::filesystem::is_regular_file(path, error)) return path.string();
  say_skipped("../shared/data/" + name + " is missing");
  return std::nullopt;
}

}  // namespace psm
