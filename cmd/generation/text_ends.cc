#include "cmd/generation/text_ends.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/wire/ciphertext_file.h"

namespace psm::cmd {

TextEnds::TextEnds(PlanEnds prompt, PlanEnds token)
    : prompt_inputs(std::move(prompt.inputs)),
      prompt_outputs(std::move(prompt.outputs)),
      token_outputs(std::move(token.outputs)) {
  if (token.inputs.empty()) throw Error("this program goes on with no text; compile it with --for text");
  // Takes a cache out of what an entry point gives.
  const auto take = [](std::vector<PlanEnd>& outputs, const char* entry, const PlanEnd& cache) {
    const auto out = std::ranges::find(outputs, cache.name, &PlanEnd::name);
    if (out == outputs.end() || out->level < cache.level)
      throw Error(message("the entry point '", entry, "' does not give '", cache.name, "' at level ",
                          int{cache.level}, ", as a token takes it; compile the model again"));
    outputs.erase(out);
  };
  for (PlanEnd& end : token.inputs) {
    if (end.name.starts_with(kWeightPrefix)) {
      weights.push_back(std::move(end));
    } else if (std::ranges::find(token_outputs, end.name, &PlanEnd::name) == token_outputs.end()) {
      token_inputs.push_back(std::move(end));
    } else {
      take(token_outputs, kToken, end);
      if (takes_prompts()) take(prompt_outputs, kPrompt, end);
      caches.push_back(std::move(end));
    }
  }
}

uint64_t longest_file(const ckks::Context& context, const std::vector<PlanEnd>& ends) {
  uint64_t bytes = wire::container_bytes(context.spec()) + wire::record_bytes(wire::kMaxNoteBytes);
  for (const PlanEnd& end : ends)
    bytes += wire::record_bytes(wire::ciphertext_payload(context, end.level, false));
  return bytes;
}

uint64_t longest_request(const TextEnds& ends) {
  return std::max(longest_file(*ends.context, ends.prompt_inputs),
                  longest_file(*ends.context, ends.token_inputs));
}

}  // namespace psm::cmd
