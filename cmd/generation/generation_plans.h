// How a text is computed on, one token after another: everything that a server and its client both know, and
// that follows from programs and parameters alone. No model: what a server with encrypted weights has of one
// is its outline (attention/encrypted/model_outline.h).
//
// Two plans: the pass over the prompt, which hands out keys and values
// (attention/encrypted/encrypted_cache.h), and one further token, which reads them and hands them on
// (attention/encrypted/decode.h). The length of the prompt and the position of the token are constants of
// theirs: neither levels nor keys depend on them. With encrypted weights there is no pass: a prompt comes
// token by token, the first one to empty caches.
//
// Levels. A cache is carried at one level from run to run: the level at which a token costs least, by nominal
// costs, or the lowest at which it costs 3% more at most, among those that the prompt's pass can hand out.
//
// Bootstraps. All values that a token refreshes repeat with F at most, but for what GELU reads and makes, so
// that sparse bootstraps of F slots are offered (ckks/bootstrap/sparse_bootstrapper.h). Where the prompt's
// pass repeats as well (a small model in a large ring), those of its period serve both, and there are no
// others.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attention/encrypted/decode.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"
#include "ckks/program/planning/meter.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

// A further token.
struct TokenProgram {
  TokenProgram(attention::DecodeProgram decode, const attention::Packing& packing, int layers, int tokens);

  program::Program program;  // of position 0
  std::function<program::Constants(int position)> constants;
  std::vector<int> all_rotations;         // positions whose rotations are those of all
  std::vector<std::string> caches;        // by name
  std::map<std::string, int> below;       // of each cache, by how many levels it stands below the highest
  std::vector<std::string> weight_names;  // encrypted ones
  int tokens = 0;                         // places
};

struct GenerationPlans {
  // `prompt`: of T tokens; without one prompts come token by token. `id`: tells the model from others.
  GenerationPlans(std::shared_ptr<const ckks::Context> context, uint64_t id, int layers,
                  const attention::Packing& packing, const std::optional<program::Program>& prompt,
                  TokenProgram token);
  // With encrypted weights.
  GenerationPlans(std::shared_ptr<const ckks::Context> context, uint64_t id,
                  const attention::ModelOutline& outline);

  std::shared_ptr<const ckks::Context> context;
  uint64_t model_id = 0;
  std::unique_ptr<const ckks::BootstrapPlan> bootstrap;                  // null if no plan has a full one
  std::vector<std::unique_ptr<const ckks::SparseBootstrapPlan>> sparse;  // those that the plans have
  program::Plan prompt, token;  // of T tokens, or empty; of position 0
  std::vector<std::string> cache_names, weight_names;
  std::map<std::string, ckks::Level> cache_levels;
  ckks::KeyRequest prompt_keys, token_keys, keys;  // of all lengths and positions; of both
  program::MeterReading prompt_reading, token_reading;
  double bootstrap_error_std = 0;  // of re and of im of a slot, full or sparse

  // T: the model's, or as many as there are places for.
  int tokens() const { return tokens_; }
  bool takes_prompts() const { return !prompt.program.instructions.empty(); }
  program::Constants prompt_constants(int tokens) const;
  program::Constants token_constants(int position) const { return constants_(position); }
  ckks::Level highest_cache_level() const;

  // What the client sends and gets, without the caches, which stay at the server, and the weights: the same
  // for both plans.
  std::vector<PlanEnd> prompt_inputs() const, token_inputs() const;
  // Of the run on tokens from `first` on, where the server keeps those from `window` on.
  std::vector<PlanEnd> outputs(int first, int window) const;
  std::vector<PlanEnd> caches() const, weights() const;

  size_t cache_bytes() const;   // in memory, packed
  size_t weight_bytes() const;  // in memory
  // What the server needs at its peak beside the plans, predicted: with the keys of one run at a time
  // (held_keys.h), or with all of them, as on a device.
  size_t server_bytes(bool all_keys = false) const;

 private:
  attention::Packing packing_;
  std::function<program::Constants(int position)> constants_;
  int layers_ = 0, tokens_ = 0;
};

// The plans of one token at every level of the caches at which there is one: the one to take first, the
// others from the cheapest on. `caches`: their names, and by how many levels each stands below the highest.
// Throws Error if there is none.
std::vector<program::Plan> token_plans(const program::Program& token,
                                       const std::map<std::string, int>& caches, program::LevelBudget budget,
                                       const program::CostModel& costs);

}  // namespace psm::cmd
