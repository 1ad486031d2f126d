#include "cmd/generation/model/generation_deployment.h"

#include <optional>
#include <utility>

#include "ckks/base/error.h"

namespace psm::cmd {
GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made)
    : PackedModel(checkpoint, *made, 1),
      GenerationPlans(made, model_fingerprint, model.weights.config.layers, packing,
                      attention::build_program(model, packing, packing.tokens),
                      TokenProgram(attention::build_decode_program(model, packing), packing,
                                   model.weights.config.layers, model.weights.config.context)) {}

GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made, uint64_t weights_id)
    : PackedModel(checkpoint, *made, 1), GenerationPlans(made, weights_id, attention::outline_of(model)) {}

}  // namespace psm::cmd
