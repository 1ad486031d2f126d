// A program's plan and its figures under the costs of this machine, before any key exists.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ckks/program/planning/meter.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

struct Metered {
  program::Plan plan;
  std::vector<program::SparseFigures> sparse;  // offered
  program::MeterReading reading;
};

// This machine: its kernels, and its full bootstrap.
struct Machine {
  const ckks::Context& context;
  program::KernelSeconds kernels;
  program::BootstrapFigures bootstrap;

  // `caches`: of a further token (cmd/compiler/text_plans.h); none: a whole pass. Sparse bootstraps are
  // offered for the longest values, for those of blocks and for `kinds`.
  Metered meter(const program::Program& program, const std::vector<std::string>& caches,
                std::set<ckks::BootstrapKind> kinds, const std::set<std::string>& weight_names = {}) const;
};

// What keys and values take in memory, and how they are kept: "12 ciphertexts at level 10, 138.41 MB".
double cache_bytes(const ckks::Context&, const program::Plan&);
std::string cache_text(const ckks::Context&, const program::Plan&);

}  // namespace psm::cmd
