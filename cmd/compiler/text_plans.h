// The plans of a program that continues texts (cmd/generation/text_ends.h). The pass over the prompt makes
// the caches of keys and values (attention/encrypted/encrypted_cache.h). One further token reads them and
// passes them on (attention/encrypted/decode.h). The length of the prompt and the position of the token are
// arguments: neither levels nor bootstraps depend on them.
//
// Levels. A cache has the same level from run to run, one that the prompt's pass can reach. It is the lowest
// level at which a token costs at most 3% more than at the best one, by nominal costs.
//
// Bootstraps. All values that a token refreshes repeat with F or less, except GELU's inputs and results. So
// sparse bootstraps of F slots are offered (ckks/bootstrap/bootstrapper.h). If the prompt's pass repeats as
// well (a small model in a large ring), only bootstraps of its period are offered, for both.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attention/encrypted/decode.h"
#include "ckks/program/file/program_file.h"
#include "ckks/program/planning/cost_model.h"
#include "ckks/scheme/chain/context.h"

namespace psm::cmd {

// The plans of one token, one for every level of the caches that has a plan: first the plan to take, then the
// others from the cheapest on. `caches` are the caches' names. Throws Error if there is no plan.
std::vector<program::Plan> token_plans(const program::Program& token, const std::vector<std::string>& caches,
                                       program::LevelBudget budget, const program::CostModel& costs);

// The entry points, the prompt's first. `prompt` has as many tokens as the packing has places; without it
// prompts come token by token. Constants by position go to the keeper at once.
std::vector<program::EntryPoint> plan_text(const ckks::Context& context, const attention::ModelConfig& config,
                                           const attention::Packing& packing,
                                           const std::optional<program::Program>& prompt,
                                           const attention::DecodeProgram& token,
                                           program::PlainKeeper& keeper);

}  // namespace psm::cmd
