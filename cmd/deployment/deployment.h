// A model made ready to run encrypted: everything that client and server both know, and that follows from the
// checkpoint and the parameters alone. Client and server build the same Deployment, so that the keys that one
// makes are those that the other needs.
#pragma once

#include <memory>

#include "attention/encrypted/encrypted_model.h"
#include "attention/files/checkpoint.h"
#include "ckks/program/planner/planner.h"
#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/ring_flags.h"
#include "cmd/server/planned_pass.h"

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

struct Deployment : PackedModel, PlannedPass {
  Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec);
  Deployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context);

  double bootstrap_error_std = 0;  // of re and of im of a slot (ckks/bootstrap/error_model.h)
};

// Fingerprint of what a checkpoint computes.
uint64_t fingerprint_of(const attention::Checkpoint& checkpoint);

}  // namespace psm::cmd
