#include "ckks/program/commit/check.h"

#include "ckks/base/error.h"
#include "ckks/program/ranks/rank_plan.h"

namespace psm::program {

Plan plan_of(const Steps& steps, size_t step, const ckks::Chain& chain) {
  // The part of a rank that computes this step alone.
  const Plan& whole = steps.plan();
  Schedule schedule{.ranks = 2, .level = whole.level, .values = whole.program.values};
  for (const size_t i : steps.at(step).instructions)
    schedule.tasks.push_back({whole.program.instructions[i], i, whole.argument_level[i], 0, 1});
  return rank_plan(whole, schedule, {.ranks = 2}, 1, chain).plan;
}

void check_opening(const Steps& steps, const ckks::Chain& chain, const Digest& root,
                   const std::vector<size_t>& challenged, const Opening& opening,
                   const NamedCiphertexts& inputs, const NamedCiphertexts& outputs,
                   const Recompute& recompute) {
  const OpenedValues opened(steps, challenged);
  if (opening.proofs.size() != opened.proved.size())
    throw Error(message("the opening has ", opening.proofs.size(), " paths, and the challenge asks for ",
                        opened.proved.size()));
  std::map<int, Digest> committed;
  for (size_t i = 0; i < opened.proved.size(); ++i) {
    const Proof& proof = opening.proofs[i];
    const Value value = opened.proved[i];
    if (!leads_to(root, proof.leaf, steps.place(value), steps.crossing().size(), proof.path))
      throw Error(message("the path of value ", value.id, " does not lead to the committed root"));
    committed[value.id] = proof.leaf;
  }
  // Any other value is inside a step.
  const auto differs = [&](Value value, const ckks::Ciphertext& ciphertext) {
    const auto found = committed.find(value.id);
    return found != committed.end() && digest_of(ciphertext) != found->second;
  };
  for (const Value value : opened.ciphertexts)
    if (differs(value, opening.ciphertexts.at(value.id)))
      throw Error(message("value ", value.id, " was opened with other bits than were committed to"));
  std::map<int, const ckks::Ciphertext*> known;
  for (const auto& [value, ciphertext] : opening.ciphertexts) known[value] = &ciphertext;
  const auto require_ends = [&](const std::vector<NamedValue>& ends, const NamedCiphertexts& ciphertexts,
                                const char* what) {
    for (const NamedValue& end : ends) {
      known[end.value.id] = &ciphertexts.at(end.name);
      if (differs(end.value, ciphertexts.at(end.name)))
        throw Error(message("the server committed to other ", what, ": '", end.name, "' has other bits"),
                    Error::Kind::kFailed);
    }
  };
  require_ends(steps.plan().program.inputs, inputs, "prompts");
  require_ends(steps.plan().program.outputs, outputs, "answers");
  for (const size_t step : challenged) {
    RunOptions options;
    options.receive = [&](Value value) { return known.at(value.id)->clone(); };
    options.observe = [&](size_t, Value value, const ckks::Ciphertext& ciphertext) {
      if (differs(value, ciphertext))
        throw Error(
            message("step ", step, " (", steps.label(step),
                    ") was not computed as the program says: ", "value ", value.id, " has other bits"),
            Error::Kind::kFailed);
    };
    recompute(plan_of(steps, step, chain), options);
  }
}

}  // namespace psm::program
