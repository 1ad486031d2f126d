// A model that is ready to run encrypted in one process, for the demonstration and for timing. It is compiled
// to a file (cmd/compiler/compile.h) and read from it. The file is removed once it is mapped.
#pragma once

#include <memory>

#include "attention/files/checkpoint.h"
#include "ckks/program/errors/noise.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/compiler/compile.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {

struct Deployment : PackedModel, PlannedPass {
  Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec);

  // Compiles for the ring of `context`, which may be used elsewhere; the deployment makes a context of its own.
  Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& context);

  program::BootstrapErrors bootstrap_errors;
};

}  // namespace psm::cmd
