// What commands are told of parameters.
#pragma once

#include <string>

#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

// What a command is told of a ring that comes with its files.
struct FileRingFlags {
  explicit FileRingFlags(Flags& flags);
  // After parse(): selects the kernels that --backend names; throws Error for one that this processor lacks.
  void apply() const;
  // Throws Error if a context is insecure and --insecure was not given; warns if it was.
  void require_security(const ckks::Context& context) const;

  const bool& insecure;
  const std::string& backend;
};

Json parameters_json(const ckks::Context& context);

}  // namespace psm::cmd
