// A model made ready to go on with a text encrypted, one token after another: everything that client and
// server both know, and that follows from the checkpoint and the parameters alone
// (cmd/deployment/deployment.h says it of a single pass).
//
// Two plans: the pass over the prompt, which hands out keys and values
// (attention/encrypted/encrypted_cache.h), and one further token, which reads them and hands them on
// (attention/encrypted/decode.h). The length of the prompt and the position of the token are constants of
// theirs: neither levels nor keys depend on them.
//
// Levels. A cache is carried at one level from run to run: the level at which a token costs least, by nominal
// costs, among those that the prompt's pass can hand out.
//
// Bootstraps. All values that a token refreshes repeat with a short period, so sparse bootstraps of the
// longest such period are offered (ckks/bootstrap/sparse_bootstrapper.h). Where the prompt's pass repeats as
// well (a small model in a large ring), those of its period serve both, and there is no full one.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "attention/encrypted/decode.h"
#include "cmd/deployment/deployment.h"
#include "cmd/deployment/plan_ends.h"

namespace psm::cmd {

struct GenerationDeployment : PackedModel {
  GenerationDeployment(const attention::Checkpoint& checkpoint, std::shared_ptr<const ckks::Context> context);

  std::shared_ptr<const ckks::Context> context;
  std::unique_ptr<const ckks::BootstrapPlan> bootstrap;                  // null if no plan has a full one
  std::vector<std::unique_ptr<const ckks::SparseBootstrapPlan>> sparse;  // those that the plans have
  program::Plan prompt, token;                                           // of T tokens; of position 0
  attention::PositionConstants positions;
  std::vector<std::string> cache_names;
  ckks::Level cache_level = 0;
  ckks::KeyRequest keys;  // of all lengths and positions
  program::MeterReading prompt_reading, token_reading;
  double bootstrap_error_std = 0;  // of re and of im of a slot, full or sparse

  // T: the model's, at most as many as the packing has places for.
  int tokens() const { return model.weights.config.context; }
  program::Constants prompt_constants(int tokens) const;
  program::Constants token_constants(int position) const { return positions.at(position); }

  // What the client sends and gets, without the caches, which stay at the server: the same for both plans.
  std::vector<PlanEnd> prompt_inputs() const, token_inputs() const, prompt_outputs() const,
      token_outputs() const;
  std::vector<PlanEnd> caches() const;

  size_t cache_bytes() const;  // in memory, packed
  // What the server needs at its peak, predicted.
  size_t server_bytes() const;
};

// The plans of one token at every level of the caches at which there is one, the cheapest first. Throws Error
// if there is none.
std::vector<program::Plan> token_plans(const program::Program& token, const std::vector<std::string>& caches,
                                       program::LevelBudget budget, const program::CostModel& costs);

}  // namespace psm::cmd
