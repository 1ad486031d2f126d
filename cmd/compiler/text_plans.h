// The plans of a program that goes on with a text (cmd/generation/text_ends.h): the pass over the prompt, which hands
// out keys and values (attention/encrypted/encrypted_cache.h), and one further token, which reads them and hands them
// on (attention/encrypted/decode.h). The length of the prompt and the position of the token are arguments: neither
// levels nor bootstraps depend on them.
//
// Levels. A cache is carried at one level from run to run: the level at which a token costs least, by nominal costs, or
// the lowest at which it costs 3% more at most, among those that the prompt's pass can hand out.
//
// Bootstraps. All values that a token refreshes repeat with F at most, but for what GELU reads and makes, so that
// sparse bootstraps of F slots are offered (ckks/bootstrap/bootstrapper.h). Where the prompt's pass repeats as
// well (a small model in a large ring), those of its period serve both, and there are no others.
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

// The plans of one token at every level of the caches at which there is one: the one to take first, the others from
// the cheapest on. `caches`: their names. Throws Error if there is none.
std::vector<program::Plan> token_plans(const program::Program& token, const std::vector<std::string>& caches,
                                       program::LevelBudget budget, const program::CostModel& costs);

// The entry points, the prompt's first. `prompt`: of as many tokens as the packing has places; without one prompts
// come token by token. What differs by position goes to the keeper as it is made.
std::vector<program::EntryPoint> plan_text(const ckks::Context& context, const attention::ModelConfig& config,
                                           const attention::Packing& packing,
                                           const std::optional<program::Program>& prompt,
                                           const attention::DecodeProgram& token,
                                           program::PlainKeeper& keeper);

}  // namespace psm::cmd
