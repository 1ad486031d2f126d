// Where Bazel puts a file that a test's `data` names: a command, or one of //testdata.
#pragma once

#include <cstdlib>
#include <string>

namespace psm {

// `path` begins at the repository's root. Works only in a test.
inline std::string runfile(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/" + std::getenv("TEST_WORKSPACE") + "/" + path;
}

}  // namespace psm
