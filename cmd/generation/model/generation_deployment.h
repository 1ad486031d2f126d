// A model made ready to go on with a text encrypted: the plans, and the model itself, which a client has, and a
// server whose weights are plaintexts.
#pragma once

#include <memory>
#include <vector>

#include "cmd/deployment/deployment.h"
#include "cmd/generation/generation_plans.h"

namespace psm::cmd {

struct GenerationDeployment : PackedModel, GenerationPlans {
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context);
  // With encrypted weights, which have this number; the plans are those of the outline.
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context,
                       uint64_t weights_id);
};

}  // namespace psm::cmd
