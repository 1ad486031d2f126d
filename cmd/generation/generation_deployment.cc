#include "cmd/generation/generation_deployment.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/ring/packed_poly.h"

namespace psm::cmd {
namespace {

using SparsePlans = std::vector<std::unique_ptr<const ckks::SparseBootstrapPlan>>;

// One for both programs if it can hold the prompt's values, else one for the token's.
SparsePlans offered(const ckks::Context& context, const program::Program& prompt,
                    const program::Program& token) {
  SparsePlans plans;
  if (!context.can_bootstrap()) return plans;
  const size_t most = static_cast<size_t>(context.slots()) / 2;
  const size_t of_token = program::longest_refreshed(token),
               of_both = std::max(of_token, program::longest_refreshed(prompt));
  const size_t period = of_both <= most ? of_both : of_token;
  if (period >= 2 && period <= most)
    plans.push_back(std::make_unique<const ckks::SparseBootstrapPlan>(context, static_cast<int>(period)));
  return plans;
}

std::vector<const ckks::SparseBootstrapPlan*> pointers(const SparsePlans& plans) {
  std::vector<const ckks::SparseBootstrapPlan*> out;
  for (const auto& plan : plans) out.push_back(plan.get());
  return out;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<PlanEnd> without(std::vector<PlanEnd> ends, const std::vector<std::string>& names) {
  std::erase_if(ends, [&](const PlanEnd& end) { return contains(names, end.name); });
  return ends;
}

}  // namespace

std::vector<program::Plan> token_plans(const program::Program& program,
                                       const std::vector<std::string>& caches, program::LevelBudget budget,
                                       const program::CostModel& costs) {
  std::vector<program::Plan> plans;
  std::string refused;
  for (ckks::Level level = 0; level <= std::min(budget.max_level, budget.input_level); ++level) {
    for (const std::string& name : caches) budget.carried[name] = level;
    try {
      plans.push_back(program::plan(program, budget, costs));
    } catch (const Error& error) {
      refused = error.what();  // too low for what reads it; a higher one may do
    }
  }
  if (plans.empty()) throw Error(refused);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const program::Plan& a, const program::Plan& b) { return a.seconds < b.seconds; });
  return plans;
}

GenerationDeployment::GenerationDeployment(const attention::Checkpoint& checkpoint,
                                           std::shared_ptr<const ckks::Context> made)
    : PackedModel(checkpoint, *made, 1), context(std::move(made)) {
  const int layers = model.weights.config.layers;
  cache_names = attention::cache_names(packing, layers);
  const program::Program prompt_program = attention::build_program(model, packing, packing.tokens);
  attention::DecodeProgram decode = attention::build_decode_program(model, packing);
  positions = std::move(decode.constants);
  if (context->can_bootstrap()) bootstrap = std::make_unique<const ckks::BootstrapPlan>(*context);
  sparse = offered(*context, prompt_program, decode.program);
  const program::CostModel costs = nominal_costs(*context, bootstrap.get(), pointers(sparse));

  std::vector<program::Plan> plans =
      token_plans(decode.program, cache_names, program::budget_of(*context), costs);
  std::string refused;
  bool found = false;
  for (program::Plan& plan : plans) {
    try {
      prompt = program::plan(prompt_program, plan.budget, costs);
    } catch (const Error& error) {
      refused = error.what();  // too high for what the prompt's pass hands out
      continue;
    }
    token = std::move(plan);
    found = true;
    break;
  }
  if (!found) throw Error(refused);
  cache_level = token.budget.carried.begin()->second;

  for (const int position : positions.all_rotations())
    token.keys = program::with_constants(token, positions.at(position), costs).keys;
  std::set<size_t> periods = program::bootstrap_periods(prompt);
  periods.merge(program::bootstrap_periods(token));
  if (!periods.contains(0)) bootstrap.reset();
  std::erase_if(sparse,
                [&](const auto& plan) { return !periods.contains(static_cast<size_t>(plan->slots())); });
  const std::vector<const ckks::SparseBootstrapPlan*> used = pointers(sparse);
  keys = program::key_request(prompt, bootstrap.get(), used);
  keys.merge(program::key_request(token, bootstrap.get(), used));
  prompt_reading = program::meter(prompt, costs);
  token_reading = program::meter(token, costs);
  if (!periods.empty()) bootstrap_error_std = ckks::predict_error(ckks::BootstrapPlan(*context)).rms();
}

program::Constants GenerationDeployment::prompt_constants(int tokens) const {
  return attention::prompt_constants(prompt.program, packing, model.weights.config.layers, tokens);
}

std::vector<PlanEnd> GenerationDeployment::prompt_inputs() const {
  return without(inputs_of(prompt), cache_names);
}
std::vector<PlanEnd> GenerationDeployment::token_inputs() const {
  return without(inputs_of(token), cache_names);
}
std::vector<PlanEnd> GenerationDeployment::prompt_outputs() const {
  return without(outputs_of(prompt), cache_names);
}
std::vector<PlanEnd> GenerationDeployment::token_outputs() const {
  return without(outputs_of(token), cache_names);
}

std::vector<PlanEnd> GenerationDeployment::caches() const {
  std::vector<PlanEnd> ends;
  for (const std::string& name : cache_names) ends.push_back({name, cache_level});
  return ends;
}

size_t GenerationDeployment::cache_bytes() const {
  const ckks::Basis basis{cache_level + 1, 0};
  return 2 * cache_names.size() * ckks::packed_bytes(context->ring(), basis);
}

size_t GenerationDeployment::server_bytes() const {
  return keys.bytes(context->chain()) +
         static_cast<size_t>(std::max(prompt_reading.run_bytes(), token_reading.run_bytes())) + cache_bytes();
}

}  // namespace psm::cmd
