// A model made ready to run encrypted in one process, for the demonstration and for timing: compiled to a file as for
// others (cmd/compiler/compile.h), and read from it. The file is gone once it is mapped.
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

  // On a ring that is used elsewhere as well; `context` is one of its own.
  Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& context);

  program::BootstrapErrors bootstrap_errors;
};

}  // namespace psm::cmd
