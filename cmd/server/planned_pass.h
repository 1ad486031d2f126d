// A planned pass of a whole model: what the server computes, and everything that it needs to know of the model.
#pragma once

#include <memory>
#include <utility>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/verify/verify.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

inline PlanEnds ends_of(const program::Plan& plan, uint64_t program_id = 0) {
  PlanEnds ends{program_id, {}, {}};
  for (size_t i = 0; i < plan.program.inputs.size(); ++i)
    ends.inputs.push_back({plan.program.inputs[i].name, plan.input_levels[i]});
  for (const program::NamedValue& output : plan.program.outputs)
    ends.outputs.push_back({output.name, plan.level[output.value.id]});
  require_sendable(ends.inputs), require_sendable(ends.outputs);
  return ends;
}

struct PlannedPass {
  PlannedPass(std::shared_ptr<const ckks::Context> own, program::Plan planned)
      : PlannedPass(own, std::move(planned), ckks::plan_bootstraps(*own, {{}})) {}
  // With bootstraps that were planned before, which takes long.
  PlannedPass(std::shared_ptr<const ckks::Context> own, program::Plan planned, ckks::BootstrapPlans offered)
      : context(std::move(own)),
        bootstraps(std::move(offered)),
        plan(std::move(planned)),
        keys(program::key_request(plan, bootstraps)),
        reading(program::meter(plan, program::costs_of(*context, bootstraps))) {}
  // Reads a program's file. Throws Error if it has no whole pass.
  explicit PlannedPass(program::VerifiedProgram program)
      : PlannedPass(std::move(program.context), program.file.entry(kPass).plan) {
    keys = program.file.entry(kPass).keys;
    program_id = program.file.id();
  }

  std::shared_ptr<const ckks::Context> context;
  ckks::BootstrapPlans bootstraps;  // the full one, where the parameters have it
  program::Plan plan;
  ckks::KeyRequest keys;          // of the plan and of its bootstraps
  uint64_t program_id = 0;        // what ciphertexts carry
  program::MeterReading reading;  // by nominal costs: counts, keys, memory
  size_t device_room = 0;         // on a device, for encoded plaintexts beyond the usual

  PlanEnds ends() const { return ends_of(plan, program_id); }
  // The server's predicted peak memory, without the program: keys, encoded transforms and weights, live ciphertexts. If it
  // computes on a device, the keys alone are in the host's memory too.
  size_t server_bytes(bool on_device = false) const {
    return static_cast<size_t>(reading.key_bytes + (on_device ? 0 : reading.run_bytes()));
  }
};

}  // namespace psm::cmd
