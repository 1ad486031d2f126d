// From the scheme to plain figures and back: what the planner and the meter need to know of a context and of
// its bootstrap, and the keys that a plan asks for.
#pragma once

#include <span>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/public/keys.h"

namespace psm::program {

// Results at most at the level after a bootstrap, outputs at level 0.
LevelBudget budget_of(const ckks::Context&);

// Work, key-switches and keys of one bootstrap. Seconds are predicted from the kernels; replace them by a
// measured time where there is one.
BootstrapFigures figures_of(const ckks::BootstrapPlan&, const KernelSeconds&);

// A sparse bootstrap, to be offered to the planner.
SparseFigures figures_of(const ckks::SparseBootstrapPlan&, const KernelSeconds&);

// Every key that running the plan takes; `bootstrap` may be null if the plan has no full ones, and `sparse`
// has a plan for each kind of its sparse ones (bootstrap_kinds). Throws Error where one is missing.
ckks::KeyRequest key_request(const Plan&, const ckks::BootstrapPlan* bootstrap,
                             std::span<const ckks::SparseBootstrapPlan* const> sparse = {});

}  // namespace psm::program
