// A planned pass of a whole model: what the server computes, and everything that it needs to know of the model.
#pragma once

#include <memory>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/verify/verify.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

PlanEnds ends_of(const program::Plan& plan, uint64_t program_id = 0);

struct PlannedPass {
  PlannedPass(std::shared_ptr<const ckks::Context> context, program::Plan plan);
  // Reads a program's file. Throws Error if it has no whole pass.
  explicit PlannedPass(program::VerifiedProgram program);

  std::shared_ptr<const ckks::Context> context;
  ckks::BootstrapPlans bootstraps;  // the full one, where the parameters have it
  program::Plan plan;
  ckks::KeyRequest keys;          // of the plan and of its bootstraps
  uint64_t program_id = 0;        // what ciphertexts carry
  program::MeterReading reading;  // by nominal costs: counts, keys, memory
  size_t device_room = 0;         // on a device, for encoded plaintexts beyond reading.encoded_limit

  PlanEnds ends() const { return ends_of(plan, program_id); }
  // The server's predicted peak memory, without the program: keys, encoded transforms and weights, live ciphertexts.
  size_t server_bytes() const { return static_cast<size_t>(reading.run_bytes() + reading.key_bytes()); }
};

}  // namespace psm::cmd
