#include "cmd/server/nominal_costs.h"

#include <utility>
#include <vector>

#include "ckks/program/planning/scheme_figures.h"

namespace psm::cmd {

program::CostModel nominal_costs(const ckks::Context& context, const ckks::BootstrapPlan* bootstrap,
                                 std::span<const ckks::SparseBootstrapPlan* const> sparse) {
  const program::KernelSeconds kernels;
  std::vector<program::SparseFigures> offered;
  for (const ckks::SparseBootstrapPlan* plan : sparse) offered.push_back(program::figures_of(*plan, kernels));
  return program::CostModel(
      context.chain(), kernels,
      bootstrap ? program::figures_of(*bootstrap, kernels) : program::BootstrapFigures{}, std::move(offered));
}

}  // namespace psm::cmd
