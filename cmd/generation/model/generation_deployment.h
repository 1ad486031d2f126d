// A model made ready to go on with a text encrypted: the plans, and the model itself, which a client has, and a
// server whose weights are plaintexts.
#pragma once

#include <memory>
#include <vector>

#include "cmd/deployment/deployment.h"
#include "cmd/generation/generation_plans.h"

namespace psm::cmd {

// Texts that go on in step; their number is part of the model's, for client and server to agree on.
struct Sequences {
  int count = 1;
};

struct GenerationDeployment : PackedModel, GenerationPlans {
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context);
  // With encrypted weights, which have this number; the plans are those of the outline.
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context,
                       uint64_t weights_id);
  // Of so many sequences in step, with weights in the clear: their prompts come token by token. Of T at most as many
  // tokens as a block of their caches holds.
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context,
                       Sequences sequences);
};

}  // namespace psm::cmd
