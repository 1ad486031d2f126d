// From the scheme to plain figures and back: what the planner and the meter need to know of a context and of
// its bootstraps, and the keys that a plan asks for.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

// Results at most at the level after a bootstrap, outputs at level 0.
LevelBudget budget_of(const ckks::Context&);

// Work, key-switches and keys of one bootstrap. Seconds are predicted from the kernels; replace them by a
// measured time where there is one.
BootstrapFigures figures_of(const ckks::BootstrapPlan&, const KernelSeconds&);

// The costs for these kernels, with these bootstraps on offer. Programs are planned by nominal kernels, not measured
// ones: the same model gives the same program on every machine.
CostModel costs_of(const ckks::Context&, const ckks::BootstrapPlans&, const KernelSeconds& = {});

// Every key that running the plan takes, its bootstraps' included. Throws Error where it has others than these.
ckks::KeyRequest key_request(const Plan&, const ckks::BootstrapPlans&);

}  // namespace psm::program
