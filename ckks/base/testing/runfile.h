// Where Bazel puts a file that a test's `data` names (a command, or one of //testdata), and where a test puts its own.
#pragma once

#include <cstdlib>
#include <string>

namespace psm {

// `path` begins at the repository's root. Works only in a test.
inline std::string runfile(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/" + std::getenv("TEST_WORKSPACE") + "/" + path;
}

// A file of the test's own.
inline std::string path_of(const std::string& name) {
  const char* folder = std::getenv("TEST_TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/" + name;
}

}  // namespace psm
