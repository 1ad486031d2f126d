#include "ckks/program/ranks/run_rank.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::program {

RunResult run_rank(EncryptedMachine& machine, const RankPlan& rank, const ckks::Context& context,
                   ckks::Fingerprint fingerprint, Link& link,
                   const std::map<std::string, ckks::Ciphertext>& inputs, RunOptions options) {
  options.receive = [&](Value value) {
    const ckks::Level level = rank.plan.level[id(value)];
    ckks::Ciphertext ciphertext(context.ring(), {level + 1, 0}, context.scale(level), fingerprint);
    const auto [from, words] = link.receive(kAnyRank, static_cast<uint64_t>(value.id));
    if (words.size() * sizeof(uint64_t) != ciphertext.bytes())
      throw Error(message("rank ", from, " sent ", words.size(), " words for value ", value.id,
                          " instead of ", ciphertext.bytes() / sizeof(uint64_t)));
    const size_t half = words.size() / 2;
    for (size_t i = 0; i < 2; ++i) std::copy_n(words.data() + i * half, half, ciphertext.c[i].limb(0));
    return ciphertext;
  };
  const auto observe = options.observe;
  options.observe = [&](size_t instruction, Value value, const ckks::Ciphertext& result) {
    if (observe) observe(instruction, value, result);
    const auto found = rank.sends.find(value.id);
    if (found == rank.sends.end()) return;
    const size_t half = result.c[0].bytes() / sizeof(uint64_t);
    for (const int to : found->second) {
      Buffer words(2 * half);
      for (size_t i = 0; i < 2; ++i) std::copy_n(result.c[i].limb(0), half, words.data() + i * half);
      link.send(to, static_cast<uint64_t>(value.id), std::move(words));
    }
  };
  return machine.run(inputs, options);
}

}  // namespace psm::program
