#include "cmd/generation/model/generation_deployment.h"

#include <optional>
#include <utility>

#include "ckks/base/error.h"

namespace psm::cmd {
namespace {

PackedModel of_single_tokens(const attention::Checkpoint& checkpoint, const ckks::Context& context,
                             Sequences sequences) {
  PackedModel packed(checkpoint, context, 1);
  packed.packing = attention::make_packing(packed.model.weights.config, 1,
                                           static_cast<size_t>(context.slots()), sequences.count);
  if (packed.packing.prompts != sequences.count)
    throw Error(message(sequences.count, " sequences; give a power of two, at most ",
                        context.slots() / packed.packing.features));
  return packed;
}

}  // namespace

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

GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made, Sequences sequences)
    : PackedModel(of_single_tokens(checkpoint, *made, sequences)),
      GenerationPlans(
          made, model_fingerprint + static_cast<uint64_t>(sequences.count), model.weights.config.layers,
          packing, std::nullopt,
          TokenProgram(attention::build_sequences_program(model, packing, model.weights.config.context, 0))) {
}

}  // namespace psm::cmd
