// Real data that tests check against where it is at hand: files in ../shared/data beside the repository. They
// are no part of it; a test whose file is missing says so and is skipped:
//
//     const auto path = shared_data("model/tok512.bin");
//     if (!path) return;
#pragma once

#include <optional>
#include <string>

namespace psm {

// The path of a file there; nothing, after a line that says so, if it is missing.
std::optional<std::string> shared_data(const std::string& name);

}  // namespace psm
