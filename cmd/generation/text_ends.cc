#include "cmd/generation/text_ends.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/wire/ciphertext_file.h"

namespace psm::cmd {
namespace {

const PlanEnd* find(const std::vector<PlanEnd>& ends, const std::string& name) {
  const auto found = std::find_if(ends.begin(), ends.end(), [&](const PlanEnd& e) { return e.name == name; });
  return found == ends.end() ? nullptr : &*found;
}

}  // namespace

TextEnds::TextEnds(PlanEnds prompt, PlanEnds token)
    : prompt_inputs(std::move(prompt.inputs)),
      prompt_outputs(std::move(prompt.outputs)),
      token_outputs(std::move(token.outputs)) {
  if (token.inputs.empty()) throw Error("this program goes on with no text; compile it with --for text");
  // Takes a cache out of what an entry point gives.
  const auto take = [](std::vector<PlanEnd>& outputs, const char* entry, const PlanEnd& cache) {
    const PlanEnd* const out = find(outputs, cache.name);
    if (out == nullptr || out->level < cache.level)
      throw Error(message("the entry point '", entry, "' does not give '", cache.name, "' at level ",
                          int{cache.level}, ", as a token takes it; compile the model again"));
    outputs.erase(outputs.begin() + (out - outputs.data()));
  };
  for (PlanEnd& end : token.inputs) {
    if (end.name.starts_with(kWeightPrefix)) {
      weights.push_back(std::move(end));
    } else if (find(token_outputs, end.name) == nullptr) {
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

}  // namespace psm::cmd
