#include "cmd/generation/model/generation_deployment.h"

#include <utility>

namespace psm::cmd {

GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made)
    : PackedModel(checkpoint, *made, 1),
      GenerationPlans(made, model_fingerprint, model.weights.config, packing,
                      attention::build_program(model, packing, packing.tokens),
                      attention::build_decode_program(model, packing)) {}

GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made, uint64_t weights_id)
    : PackedModel(checkpoint, *made, 1), GenerationPlans(made, weights_id, attention::outline_of(model)) {}

}  // namespace psm::cmd
