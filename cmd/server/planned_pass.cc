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

std::vector<PlanEnd> inputs_of(const program::Plan& plan) {
  std::vector<PlanEnd> ends;
  for (size_t i = 0; i < plan.program.inputs.size(); ++i)
    ends.push_back({plan.program.inputs[i].name, plan.input_levels[i]});
  return ends;
}

std::vector<PlanEnd> outputs_of(const program::Plan& plan) {
  std::vector<PlanEnd> ends;
  for (const program::NamedValue& output : plan.program.outputs)
    ends.push_back({output.name, plan.level[output.value.id]});
  return ends;
}

PlanEnds ends_of(const PlannedPass& pass) {
  return {pass.program_id, inputs_of(pass.plan), outputs_of(pass.plan)};
}

}  // namespace psm::cmd
