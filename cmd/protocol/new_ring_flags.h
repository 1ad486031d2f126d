// Flags for the parameters of a model that is compiled.
#pragma once

#include <string>

#include "cmd/protocol/ring_flags.h"

namespace psm::cmd {

// A secure set or, with --insecure, its chain in a smaller ring.
struct RingFlags : FileRingFlags {
  explicit RingFlags(Command& flags);
  // Throws Error for a smaller ring without --insecure, and for an unknown kind of secret.
  ckks::ParameterSpec spec() const;

  const int64_t& log_n;
  const std::string& secret;
};

}  // namespace psm::cmd
