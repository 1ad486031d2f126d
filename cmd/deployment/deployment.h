// A model made ready to run encrypted: everything that client and server both know, and that follows from the
// checkpoint and the parameters alone. Client and server build the same Deployment, so that the keys that one
// makes are those that the other needs.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/base/files/flags.h"
#include "ckks/base/files/json.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/planning/meter.h"
#include "ckks/program/planning/planner.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

// A polynomial model and its places in a ring's slots: what turns prompts into inputs and outputs into
// logits. No plan.
struct PackedModel {
  // Throws Error if the checkpoint is not one of //cmd:polynomialise, or the model does not fit the ring.
  // `prompts`: how many different ones share the ciphertexts; 0: as many as fit.
  PackedModel(const attention::Checkpoint& checkpoint, const ckks::Context& context, int prompts = 0);

  attention::PolynomialModel model;
  attention::Packing packing;
  uint64_t model_fingerprint = 0;  // of weights, ranges and the options of the polynomials
};

struct Deployment : PackedModel {
  Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec);
  Deployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context);

  std::shared_ptr<const ckks::Context> context;
  std::unique_ptr<const ckks::BootstrapPlan> bootstrap;
  program::Plan plan;
  ckks::KeyRequest keys;           // of the plan and of its bootstraps
  double bootstrap_error_std = 0;  // of re and of im of a slot (ckks/bootstrap/error_model.h)

  program::MeterReading reading;  // by nominal costs: counts, keys, memory

  // What the server needs at its peak beside the program, which it holds already: keys, encoded transforms and
  // weights, live ciphertexts; predicted.
  size_t server_bytes() const { return static_cast<size_t>(reading.run_bytes() + reading.key_bytes()); }
};

// The costs that place the bootstraps are nominal, not measured: the plan, and with it the keys, must be the
// same on the client's machine and on the server's. `bootstrap` may be null.
program::CostModel nominal_costs(const ckks::Context& context, const ckks::BootstrapPlan* bootstrap,
                                 std::span<const ckks::SparseBootstrapPlan* const> sparse = {});

// Fingerprint of what a checkpoint computes.
uint64_t fingerprint_of(const attention::Checkpoint& checkpoint);

// The parameters that a command's flags ask for: a secure set or, with --insecure, its chain in a smaller
// ring.
struct RingFlags {
  explicit RingFlags(Flags& flags);
  // After parse(): selects the kernels that --backend names; throws Error for one that this processor lacks.
  void apply() const;
  // Throws Error for a smaller ring without --insecure, and for a secret that is not offered.
  ckks::ParameterSpec spec() const;
  // Throws Error if a context that came from a file is insecure and --insecure was not given; warns if it
  // was.
  void require_security(const ckks::Context& context) const;

  const int64_t& log_n;
  const bool& insecure;
  const std::string& secret;
  const std::string& backend;
};

// Refuses to start what will not fit: "error: needs 11.2 GB of memory, 7.9 GB are available; ...".
void require_memory(size_t bytes);

Json parameters_json(const ckks::Context& context);

}  // namespace psm::cmd
