#include "cmd/server/bootstrap_plans.h"

#include <utility>

#include "ckks/program/planning/scheme_figures.h"

namespace psm::cmd {

BootstrapPlans::BootstrapPlans(const ckks::Context& context, const std::set<ckks::BootstrapKind>& kinds) {
  if (!context.can_bootstrap()) return;
  for (const ckks::BootstrapKind& kind : kinds) {
    if (!kind.possible(static_cast<size_t>(context.slots()))) continue;
    if (kind.sparse()) {
      sparse.push_back(std::make_unique<const ckks::SparseBootstrapPlan>(context, kind));
    } else {
      full = std::make_unique<const ckks::BootstrapPlan>(context);
    }
  }
}

program::CostModel BootstrapPlans::costs(const ckks::Context& context,
                                         const program::KernelSeconds& kernels) const {
  std::vector<program::SparseFigures> offered;
  for (const auto& plan : sparse) offered.push_back(program::figures_of(*plan, kernels));
  return program::CostModel(context.chain(), kernels,
                            full ? program::figures_of(*full, kernels) : program::BootstrapFigures{},
                            std::move(offered));
}

ckks::KeyRequest BootstrapPlans::keys_of(const program::Plan& plan) const {
  std::vector<const ckks::SparseBootstrapPlan*> own;
  for (const auto& each : sparse) own.push_back(each.get());
  return program::key_request(plan, full.get(), own);
}

}  // namespace psm::cmd
