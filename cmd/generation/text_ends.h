// The two ends of a program that goes on with a text: what its client sends and gets, what the server keeps between two
// tokens, and the weights where they come as ciphertexts. Client and server both know this, the one from its client
// file, the other from the program.
//
// Entry points:
//     prompt   the pass over the first tokens of a text; its argument is how many there are. Missing where weights are
//              encrypted: a prompt then comes token by token, the first one to empty caches
//     token    one further token; its argument is its place, from 0 on
// What a token's inputs and its outputs both name is a cache: keys and values, which stay at the server. Inputs named
// kWeightPrefix are encrypted weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct TextEnds {
  TextEnds() = default;
  // From all ends of the entry points; those of a missing entry point are empty. Throws Error without a token's, where a prompt
  // hands out caches that a token cannot take, or a token those that the next one cannot.
  TextEnds(std::vector<PlanEnd> of_prompt, std::vector<PlanEnd> from_prompt, std::vector<PlanEnd> of_token,
           std::vector<PlanEnd> from_token);

  // What ciphertexts carry: the program's id, or the number of the encrypted weights.
  uint64_t id = 0;
  std::shared_ptr<const ckks::Context> context;
  int tokens = 0;  // places of the caches: no prompt is longer
  // The client's. A prompt's are empty where prompts come token by token.
  std::vector<PlanEnd> prompt_inputs, prompt_outputs, token_inputs, token_outputs;
  std::vector<PlanEnd> caches;  // at the levels that a token takes
  std::vector<PlanEnd> weights;

  bool takes_prompts() const { return !prompt_inputs.empty(); }
  // Outputs of the run on tokens from `first` on, where the server keeps those from `window` on.
  const std::vector<PlanEnd>& outputs(int first, int window) const {
    return first == window && takes_prompts() ? prompt_outputs : token_outputs;
  }
};

}  // namespace psm::cmd
