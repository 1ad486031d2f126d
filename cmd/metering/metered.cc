#include "cmd/metering/metered.h"

#include <map>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/compiler/text_plans.h"
#include "cmd/protocol/plan_ends.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {

Metered Machine::meter(const program::Program& program, const std::vector<std::string>& caches,
                       std::set<ckks::BootstrapKind> kinds, const std::set<std::string>& weight_names) const {
  std::vector<program::SparseFigures> sparse;
  kinds.insert({program::longest_refreshed(program)});
  kinds.merge(program::refreshed_blocks(program));
  for (const ckks::BootstrapKind& kind : kinds)
    if (kind.sparse() && kind.possible(program.slots))
      sparse.push_back(program::figures_of(ckks::SparseBootstrapPlan(context, kind), kernels));
  const program::CostModel costs(context.chain(), kernels, bootstrap, sparse);
  const program::LevelBudget budget = program::budget_of(context);
  program::Plan plan = caches.empty() ? program::plan(program, budget, costs)
                                      : std::move(token_plans(program, caches, budget, costs).front());
  program::MeterReading reading = program::meter(plan, costs, 2, weight_names);
  return {std::move(plan), std::move(sparse), std::move(reading)};
}

double cache_bytes(const ckks::Context& context, const program::Plan& plan) {
  double bytes = 0;
  for (const auto& [name, level] : plan.budget.carried)
    bytes += static_cast<double>(context.chain().ciphertext_bytes(level));
  return bytes;
}

std::string cache_text(const ckks::Context& context, const program::Plan& plan) {
  std::map<int, size_t> by_level;
  for (const auto& [name, level] : plan.budget.carried) ++by_level[level];
  std::string text;
  for (auto at = by_level.rbegin(); at != by_level.rend(); ++at)
    text += message(counted(at->second, "ciphertext"), " at level ", at->first, ", ");
  return text + bytes_text(cache_bytes(context, plan));
}

}  // namespace psm::cmd
