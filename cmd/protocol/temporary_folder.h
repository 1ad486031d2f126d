// A folder for temporary files. A process of its own, which no interrupt ends, removes it when this object or
// this process is gone, even if it was killed.
#pragma once

#include <string>

#include "cmd/protocol/child_process.h"

namespace psm::cmd {

class TemporaryFolder {
 public:
  // Throws Error, which ends with `instead`, if no folder can be made.
  explicit TemporaryFolder(const std::string& instead = "");
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  ChildProcess remover_;
};

}  // namespace psm::cmd
