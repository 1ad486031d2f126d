// The costs by which programs are planned and metered before any machine is known.
#pragma once

#include <span>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

// The costs that place the bootstraps are nominal, not measured: the same model gives the same program on every machine.
// `bootstrap` may be null.
program::CostModel nominal_costs(const ckks::Context& context, const ckks::BootstrapPlan* bootstrap,
                                 std::span<const ckks::SparseBootstrapPlan* const> sparse = {});

}  // namespace psm::cmd
