// The two ends of a program that continues texts: the ciphertexts that its client sends and gets, those that
// the server keeps between two tokens, and encrypted weights. The client knows them from its client file, the
// server from the program.
//
// Entry points:
//     prompt   the pass over the first tokens of a text; its argument is their number. Missing with encrypted weights:
//              a prompt then comes token by token, the first one with empty caches
//     token    one further token; its argument is its place, from 0 on
// A name among a token's inputs and outputs is a cache: keys or values, which stay at the server. Inputs
// whose names begin with kWeightPrefix are encrypted weights.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ckks/scheme/chain/context.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct TextEnds {
  TextEnds() = default;
  // From all ends of the entry points; those of a missing entry point are empty. Throws Error if there is no
  // entry point for tokens, or if a prompt or a token makes caches that the next token cannot take.
  TextEnds(std::vector<PlanEnd> of_prompt, std::vector<PlanEnd> from_prompt, std::vector<PlanEnd> of_token,
           std::vector<PlanEnd> from_token);

  // The number in ciphertexts: the program's id, or the number of the encrypted weights.
  uint64_t id = 0;
  std::shared_ptr<const ckks::Context> context;
  int tokens = 0;  // places of the caches: no prompt is longer
  // The client's ends. Those of a prompt are empty if prompts come token by token.
  std::vector<PlanEnd> prompt_inputs, prompt_outputs, token_inputs, token_outputs;
  std::vector<PlanEnd> caches;  // at the levels that a token takes
  std::vector<PlanEnd> weights;

  bool takes_prompts() const { return !prompt_inputs.empty(); }
  // The outputs of the run on tokens from `first` on, if the caches begin at token `window`.
  const std::vector<PlanEnd>& outputs(int first, int window) const {
    return first == window && takes_prompts() ? prompt_outputs : token_outputs;
  }
};

}  // namespace psm::cmd
