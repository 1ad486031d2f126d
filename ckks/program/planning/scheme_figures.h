// From the scheme to plain figures and back: the figures of a context and its bootstraps for planner and
// meter, and the keys of a plan.
#pragma once

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::program {

// Work, key-switches and keys of one bootstrap. Seconds are predicted from the kernels; a caller may replace
// them by a measured time.
BootstrapFigures figures_of(const ckks::BootstrapPlan&, const KernelSeconds&);

// The costs for these kernels, with these bootstraps on offer. Programs are planned with nominal kernels, not
// measured ones, so the same model gives the same plan on every machine.
CostModel costs_of(const ckks::Context&, const ckks::BootstrapPlans&, const KernelSeconds& = {});

// Every key that running the plan needs, with its bootstraps' keys. Throws Error if the plan has other kinds
// of bootstraps than these.
ckks::KeyRequest key_request(const Plan&, const ckks::BootstrapPlans&);

}  // namespace psm::program
