#include "cmd/deployment/deployment.h"

#include <string>

#include "cmd/protocol/temporary_folder.h"

namespace psm::cmd {
namespace {

PlannedPass compiled(const PackedModel& model, const attention::Checkpoint& checkpoint,
                     const ckks::Context& context) {
  const TemporaryFolder folder;
  const std::string name = folder.path() + "/model";
  compile_model(model, checkpoint.notes, context, CompiledFor::kPass, name, false);
  return PlannedPass(program::load_program(name + ".program"));
}

}  // namespace

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::ParameterSpec& spec)
    : Deployment(checkpoint, ckks::Context(spec)) {}

Deployment::Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& own)
    : PackedModel(checkpoint, own),
      PlannedPass(compiled(*this, checkpoint, own)),
      bootstrap_errors(program::bootstrap_errors(plan, *context)) {}

}  // namespace psm::cmd
