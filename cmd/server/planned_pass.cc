#include "cmd/server/planned_pass.h"

#include <utility>

#include "ckks/program/planning/scheme_figures.h"

namespace psm::cmd {

PlannedPass::PlannedPass(program::VerifiedProgram program) : context(std::move(program.context)) {
  bootstraps = ckks::plan_bootstraps(*context, {{}});
  const program::EntryPoint& entry = program.file.entry(kPass);
  plan = entry.plan;
  keys = entry.keys;
  program_id = program.file.id();
  reading = program::meter(plan, program::costs_of(*context, bootstraps));
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
  return {pass.program_id, pass.context->fingerprint(), inputs_of(pass.plan), outputs_of(pass.plan)};
}

}  // namespace psm::cmd
