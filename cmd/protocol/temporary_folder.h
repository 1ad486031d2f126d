// A folder for temporary files. A process of its own, which no interrupt ends, removes it when this object or
// this process is gone, even if it was killed.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <string>

#include "ckks/base/error.h"
#include "cmd/protocol/child_process.h"

namespace psm::cmd {

class TemporaryFolder {
 public:
  // Throws Error, which ends with `instead`, if no folder can be made.
  explicit TemporaryFolder(const std::string& instead = "")
      : path_(make_folder(instead)),
        remover_({"/bin/sh", "-c", "trap '' HUP INT QUIT TERM; cat; rm -rf -- \"$0\"", path_}) {}
  const std::string& path() const { return path_; }

 private:
  static std::string make_folder(const std::string& instead) {
    const std::filesystem::path parent = std::filesystem::absolute(std::filesystem::temp_directory_path());
    std::string path = parent / ("psm-" + std::string(6, 'X'));  // mkdtemp replaces the last six
    if (::mkdtemp(path.data()) == nullptr)
      throw Error(message("cannot make a folder in ", parent.string(), instead));
    return path;
  }

  std::string path_;
  ChildProcess remover_;
};

}  // namespace psm::cmd
