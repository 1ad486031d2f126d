#include "cmd/compiler/text_plans.h"

#include <algorithm>
#include <set>
#include <utility>

#include "attention/encrypted/encrypted_cache.h"
#include "ckks/base/error.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/generation/text_ends.h"

namespace psm::cmd {
namespace {

// How much longer than the fastest a token may take whose caches are smaller.
constexpr double kWorthLessMemory = 1.03;

// Which bootstraps the planner may place: full ones; sparse ones, one for both programs if it can hold all that they refresh, else one of F slots, which holds all of the token's but
// what GELU reads and makes, and one for that too if it is few values; and of blocks for the token's denominators.
std::set<ckks::BootstrapKind> offered(const ckks::Context& context, const attention::Packing& packing,
                                      const std::optional<program::Program>& prompt,
                                      const program::Program& token) {
  const size_t most = static_cast<size_t>(context.slots()) / 2, F = static_cast<size_t>(packing.features);
  const size_t of_token = program::longest_refreshed(token),
               of_both = prompt ? std::max(of_token, program::longest_refreshed(*prompt)) : of_token;
  const size_t period = of_both <= most ? of_both : of_token;
  std::set<ckks::BootstrapKind> kinds = program::refreshed_blocks(token);
  kinds.insert(ckks::BootstrapKind{});
  if (period > 0) kinds.insert({period});
  if (of_both > most) kinds.insert({F});
  return kinds;
}

// An entry point whose argument takes the values from `first` on.
program::EntryPoint entry_of(const char* name, program::Plan plan, const char* argument, int first) {
  program::EntryPoint entry;
  entry.name = name, entry.argument = argument, entry.first = first;
  entry.plan = std::move(plan);
  return entry;
}

program::Constants kept(program::Constants constants, program::PlainKeeper& keeper) {
  for (program::Instruction& i : constants)
    if (i.plain.period() != 0) i.plain = keeper.keep(i.plain);
  return constants;
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

std::vector<program::EntryPoint> plan_text(const ckks::Context& context, const attention::ModelConfig& config,
                                           const attention::Packing& packing,
                                           const std::optional<program::Program>& prompt,
                                           const attention::DecodeProgram& token,
                                           program::PlainKeeper& keeper) {
  const ckks::BootstrapPlans bootstraps =
      ckks::plan_bootstraps(context, offered(context, packing, prompt, token.program));
  const program::CostModel costs = program::costs_of(context, bootstraps);
  std::vector<program::EntryPoint> entries;
  std::string refused;
  for (program::Plan& plan : token_plans(token.program, attention::cache_names(packing, config.layers),
                                         program::budget_of(context), costs)) {
    try {
      if (prompt)
        entries.push_back(entry_of(kPrompt, program::plan(*prompt, plan.budget, costs), "tokens", 1));
    } catch (const Error& error) {
      refused = error.what();  // too high for what the prompt's pass hands out
      continue;
    }
    entries.push_back(entry_of(kToken, std::move(plan), "position", 0));
    break;
  }
  if (entries.empty()) throw Error(refused);
  program::EntryPoint& last = entries.back();
  for (const int position : token.constants.all_rotations())
    last.plan.keys = program::with_constants(last.plan, token.constants.at(position), context.chain()).keys;
  for (int place = 0; place < config.context; ++place) {
    last.by_argument.push_back(kept(token.constants.at(place), keeper));
    if (prompt)
      entries[0].by_argument.push_back(kept(
          attention::prompt_constants(entries[0].plan.program, packing, config.layers, place + 1), keeper));
  }
  for (program::EntryPoint& entry : entries) entry.keys = program::key_request(entry.plan, bootstraps);
  return entries;
}

}  // namespace psm::cmd
