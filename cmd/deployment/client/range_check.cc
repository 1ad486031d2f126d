#include "cmd/deployment/client/range_check.h"

#include "ckks/program/machines/twin.h"
#include "cmd/prompts/prompts.h"
#include "cmd/protocol/ciphertext_note.h"

namespace psm::cmd {

void check_ranges(const PackedModel& packed, const std::vector<std::vector<int>>& prompts) {
  const program::Program program = attention::build_program(packed.model, packed.packing);
  for (const auto& group : groups_of(prompts, packed.packing.prompts)) {
    program::run_twin(program, attention::client_inputs(packed.model, packed.packing,
                                                        PromptExamples(packed.model.weights.config, group)));
  }
}

}  // namespace psm::cmd
