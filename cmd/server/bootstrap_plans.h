// The bootstraps that a program has, or that the planner may give it.
#pragma once

#include <memory>
#include <set>
#include <vector>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

struct BootstrapPlans {
  BootstrapPlans() = default;
  // Kinds that this ring cannot have are left out.
  BootstrapPlans(const ckks::Context& context, const std::set<ckks::BootstrapKind>& kinds);

  // Returns the costs for these kernels. The costs by which programs are planned are nominal, not measured:
  // the same model gives the same program on every machine.
  program::CostModel costs(const ckks::Context& context, const program::KernelSeconds& kernels = {}) const;
  // What running the plan takes, bootstraps included. Throws Error where it has others than these.
  ckks::KeyRequest keys_of(const program::Plan& plan) const;

  std::unique_ptr<const ckks::BootstrapPlan> full;  // null without one
  std::vector<std::unique_ptr<const ckks::SparseBootstrapPlan>> sparse;
};

}  // namespace psm::cmd
