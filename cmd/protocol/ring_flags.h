// Flags for parameters.
#pragma once

#include <string>

#include "ckks/scheme/chain/context.h"
#include "cmd/terminal/command.h"

namespace psm::cmd {

// Flags for a ring that comes with a command's files.
struct FileRingFlags {
  explicit FileRingFlags(Command& flags);
  // Throws Error if a context is insecure and --insecure was not given; warns if it was.
  void require_security(const ckks::Context& context) const;

  const bool& insecure;
};

// Flags for the parameters of a model that is compiled: a secure set or, with --insecure, its chain in a smaller ring.
struct RingFlags : FileRingFlags {
  explicit RingFlags(Command& flags);
  // Throws Error for a smaller ring without --insecure, and for an unknown kind of secret.
  ckks::ParameterSpec spec() const;

  const int64_t& log_n;
  const std::string& secret;
};

Json parameters_json(const ckks::Context& context);

}  // namespace psm::cmd
