#include "cmd/server/planned_pass.h"

#include <utility>

#include "ckks/program/planning/scheme_figures.h"

namespace psm::cmd {

PlannedPass::PlannedPass(std::shared_ptr<const ckks::Context> own, program::Plan planned)
    : context(std::move(own)),
      bootstraps(ckks::plan_bootstraps(*context, {{}})),
      plan(std::move(planned)),
      keys(program::key_request(plan, bootstraps)),
      reading(program::meter(plan, program::costs_of(*context, bootstraps))) {}

PlannedPass::PlannedPass(program::VerifiedProgram program)
    : PlannedPass(std::move(program.context), program.file.entry(kPass).plan) {
  keys = program.file.entry(kPass).keys;
  program_id = program.file.id();
}

PlanEnds ends_of(const program::Plan& plan, uint64_t program_id) {
  PlanEnds ends{program_id, {}, {}};
  for (size_t i = 0; i < plan.program.inputs.size(); ++i)
    ends.inputs.push_back({plan.program.inputs[i].name, plan.input_levels[i]});
  for (const program::NamedValue& output : plan.program.outputs)
    ends.outputs.push_back({output.name, plan.level[output.value.id]});
  return ends;
}

}  // namespace psm::cmd
