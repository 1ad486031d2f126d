#include "cmd/generation/generation_plans.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/ring/packed_poly.h"
#include "cmd/server/nominal_costs.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {
namespace {

using SparsePlans = std::vector<std::unique_ptr<const ckks::SparseBootstrapPlan>>;

// How much longer than the fastest a token may take whose caches are smaller.
constexpr double kWorthLessMemory = 1.03;

// One for both programs if it can hold all that they refresh, else one of F slots, which holds all of the
// token's but what GELU reads and makes, and one for that too if it is few values; and of blocks for the
// token's denominators.
SparsePlans offered(const ckks::Context& context, const attention::Packing& packing,
                    const std::optional<program::Program>& prompt, const program::Program& token) {
  SparsePlans plans;
  if (!context.can_bootstrap()) return plans;
  const size_t most = static_cast<size_t>(context.slots()) / 2, F = static_cast<size_t>(packing.features);
  const size_t of_token = program::longest_refreshed(token),
               of_both = prompt ? std::max(of_token, program::longest_refreshed(*prompt)) : of_token;
  const size_t period = of_both <= most ? of_both : of_token;
  std::set<ckks::BootstrapKind> kinds = program::refreshed_blocks(token);
  if (period > 0) kinds.insert({period});
  if (of_both > most) kinds.insert({F});
  for (const ckks::BootstrapKind& kind : kinds)
    if (kind.possible(static_cast<size_t>(context.slots())))
      plans.push_back(std::make_unique<const ckks::SparseBootstrapPlan>(context, kind));
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

attention::Packing packing_of(const attention::ModelOutline& outline, const ckks::Context& context) {
  return attention::make_packing(outline.config, outline.config.context, static_cast<size_t>(context.slots()),
                                 1);
}

}  // namespace

std::vector<program::Plan> token_plans(const program::Program& program,
                                       const std::map<std::string, int>& caches, program::LevelBudget budget,
                                       const program::CostModel& costs) {
  std::vector<program::Plan> plans;
  std::string refused;
  ckks::Level lowest = 0;
  for (const auto& [name, below] : caches) lowest = std::max(lowest, ckks::Level::at(below));
  for (ckks::Level level = lowest; level <= std::min(budget.max_level, budget.input_level); ++level) {
    for (const auto& [name, below] : caches) budget.carried[name] = level - below;
    try {
      plans.push_back(program::plan(program, budget, costs));
    } catch (const Error& error) {
      refused = error.what();  // too low for what reads it; a higher one may do
    }
  }
  if (plans.empty()) throw Error(refused);
  std::stable_sort(plans.begin(), plans.end(),
                   [](const program::Plan& a, const program::Plan& b) { return a.seconds < b.seconds; });
  // Caches are kept for as long as the text: a lower level is worth a little time.
  const auto dear = std::partition_point(plans.begin(), plans.end(), [&](const program::Plan& plan) {
    return plan.seconds <= kWorthLessMemory * plans.front().seconds;
  });
  const auto level = [](const program::Plan& plan) { return plan.budget.carried.begin()->second; };
  const auto smallest =
      std::min_element(plans.begin(), dear,
                       [&](const program::Plan& a, const program::Plan& b) { return level(a) < level(b); });
  std::rotate(plans.begin(), smallest, smallest + 1);
  return plans;
}

TokenProgram::TokenProgram(attention::DecodeProgram decode, const attention::Packing& packing, int layers,
                           int places)
    : program(std::move(decode.program)),
      all_rotations(decode.constants.all_rotations()),
      caches(attention::cache_names(packing, layers)),
      tokens(places) {
  for (const std::string& name : caches) below[name] = 0;
  for (const nn::WeightInput& weight : decode.weights) weight_names.push_back(weight.name);
  constants = [positions = std::move(decode.constants)](int position) { return positions.at(position); };
}

GenerationPlans::GenerationPlans(std::shared_ptr<const ckks::Context> made, uint64_t id, int layers,
                                 const attention::Packing& packing,
                                 const std::optional<program::Program>& prompt_program, TokenProgram decode)
    : context(std::move(made)),
      model_id(id),
      cache_names(std::move(decode.caches)),
      weight_names(std::move(decode.weight_names)),
      packing_(packing),
      constants_(std::move(decode.constants)),
      layers_(layers),
      tokens_(decode.tokens) {
  if (context->can_bootstrap()) bootstrap = std::make_unique<const ckks::BootstrapPlan>(*context);
  sparse = offered(*context, packing, prompt_program, decode.program);
  const program::CostModel costs = nominal_costs(*context, bootstrap.get(), pointers(sparse));

  std::vector<program::Plan> plans =
      token_plans(decode.program, decode.below, program::budget_of(*context), costs);
  std::string refused;
  bool found = false;
  for (program::Plan& plan : plans) {
    try {
      if (prompt_program) prompt = program::plan(*prompt_program, plan.budget, costs);
    } catch (const Error& error) {
      refused = error.what();  // too high for what the prompt's pass hands out
      continue;
    }
    token = std::move(plan);
    found = true;
    break;
  }
  if (!found) throw Error(refused);
  cache_levels = token.budget.carried;

  for (const int position : decode.all_rotations)
    token.keys = program::with_constants(token, constants_(position), context->chain()).keys;
  std::set<ckks::BootstrapKind> kinds = program::bootstrap_kinds(token);
  if (prompt_program) kinds.merge(program::bootstrap_kinds(prompt));
  if (!kinds.contains({})) bootstrap.reset();
  std::erase_if(sparse, [&](const auto& plan) { return !kinds.contains(plan->kind()); });
  const std::vector<const ckks::SparseBootstrapPlan*> used = pointers(sparse);
  token_keys = program::key_request(token, bootstrap.get(), used);
  token_reading = program::meter(token, costs, 2, {weight_names.begin(), weight_names.end()});
  if (prompt_program) {
    prompt_keys = program::key_request(prompt, bootstrap.get(), used);
    prompt_reading = program::meter(prompt, costs);
  }
  keys = token_keys;
  keys.merge(prompt_keys);
  if (!kinds.empty()) bootstrap_error_std = ckks::predict_error(ckks::BootstrapPlan(*context)).rms();
}

GenerationPlans::GenerationPlans(std::shared_ptr<const ckks::Context> made, uint64_t id,
                                 const attention::ModelOutline& outline)
    : GenerationPlans(
          made, id, outline.config.layers, packing_of(outline, *made), std::nullopt,
          TokenProgram(attention::build_decode_program(outline, packing_of(outline, *made)),
                       packing_of(outline, *made), outline.config.layers, outline.config.context)) {}

program::Constants GenerationPlans::prompt_constants(int tokens) const {
  return attention::prompt_constants(prompt.program, packing_, layers_, tokens);
}

std::vector<PlanEnd> GenerationPlans::prompt_inputs() const {
  return without(inputs_of(prompt), cache_names);
}
std::vector<PlanEnd> GenerationPlans::token_inputs() const {
  return without(without(inputs_of(token), cache_names), weight_names);
}

std::vector<PlanEnd> GenerationPlans::outputs(int first, int window) const {
  return without(outputs_of(first == window && takes_prompts() ? prompt : token), cache_names);
}

std::vector<PlanEnd> GenerationPlans::weights() const {
  std::vector<PlanEnd> ends;
  for (PlanEnd& end : inputs_of(token))
    if (contains(weight_names, end.name)) ends.push_back(std::move(end));
  return ends;
}

std::vector<PlanEnd> GenerationPlans::caches() const {
  std::vector<PlanEnd> ends;
  for (const std::string& name : cache_names) ends.push_back({name, cache_levels.at(name)});
  return ends;
}

ckks::Level GenerationPlans::highest_cache_level() const {
  ckks::Level highest = 0;
  for (const auto& [name, level] : cache_levels) highest = std::max(highest, level);
  return highest;
}

size_t GenerationPlans::cache_bytes() const {
  size_t bytes = 0;
  for (const auto& [name, level] : cache_levels)
    bytes += 2 * ckks::packed_bytes(context->ring(), ckks::Basis{level + 1, 0});
  return bytes;
}

size_t GenerationPlans::weight_bytes() const { return group_bytes(*context, weights()); }

size_t GenerationPlans::server_bytes(bool all_keys) const {
  const auto of_run = [&](const ckks::KeyRequest& request, double bytes) {
    return (all_keys ? keys : request).bytes(context->chain()) + static_cast<size_t>(bytes);
  };
  // Between tokens all plaintexts stay encoded.
  const double token_bytes =
      token_reading.peak_ciphertext_bytes + token_reading.plaintext_bytes + token_reading.bootstrap_bytes;
  return weight_bytes() + cache_bytes() +
         std::max(of_run(prompt_keys, prompt_reading.run_bytes()), of_run(token_keys, token_bytes));
}

}  // namespace psm::cmd
