// Flags for parameters.
#pragma once

#include <string>

#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

// Flags for a ring that comes with a command's files.
struct FileRingFlags {
  // Once the flags are read, selects the kernels of --backend; throws Error for one that this processor lacks.
  explicit FileRingFlags(Command& flags);
  // Throws Error if a context is insecure and --insecure was not given; warns if it was.
  void require_security(const ckks::Context& context) const;

  const bool& insecure;
  const std::string& backend;
};

Json parameters_json(const ckks::Context& context);

}  // namespace psm::cmd
