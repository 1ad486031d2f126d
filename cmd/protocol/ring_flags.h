// What commands are told of parameters.
#pragma once

#include <string>

#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

// What a command is told of a ring that comes with its files.
struct FileRingFlags {
  // When read, selects the kernels that --backend names; throws Error for one that this processor lacks.
  explicit FileRingFlags(Command& flags);
  // Throws Error if a context is insecure and --insecure was not given; warns if it was.
  void require_security(const ckks::Context& context) const;

  const bool& insecure;
  const std::string& backend;
};

Json parameters_json(const ckks::Context& context);

}  // namespace psm::cmd
