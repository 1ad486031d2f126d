// The run of a rank's program together with those of the other ranks. Ciphertexts travel as their residues, c_0 and then
// c_1, limb after limb; the name of a message is that of the value, its level that of the plan. Every operation is an
// exact function of residues, so the outputs are those of one rank, bit for bit.
#pragma once

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/ranks/link.h"
#include "ckks/program/ranks/rank_plan.h"

namespace psm::program {

inline uint64_t message_of(Value value) { return kFirstValue + static_cast<uint64_t>(value.id); }

// Options with which a machine of rank.plan sends what others need, and waits for what they send. The seconds of a
// kInput are those that it waited. Throws Error if the link has too few names for the values. The run throws Error for
// a message that is no ciphertext of the plan's level. All arguments outlive the run.
inline RunOptions linked(RunOptions options, const RankPlan& rank, const ckks::Context& context,
                         ckks::Fingerprint fingerprint, Link& link) {
  const size_t values = rank.plan.level.size();
  const uint64_t most = link.largest_name() - kFirstValue + 1;
  if (values > most)
    throw Error(message("the program has ", values, " values, and messages between ranks have names for ",
                        most, "; run it in one process"));
  options.receive = [&rank, &context, fingerprint, &link](Value value) {
    const ckks::Level level = rank.plan.level[id(value)];
    ckks::Ciphertext ciphertext(context.ring(), {level + 1, 0}, context.scale(level), fingerprint);
    const auto [from, words] = link.receive(kAnyRank, message_of(value));
    if (words.size() * sizeof(uint64_t) != ciphertext.bytes())
      throw Error(message("rank ", from, " sent ", words.size(), " words for value ", value.id,
                          " instead of ", ciphertext.bytes() / sizeof(uint64_t)));
    const size_t half = words.size() / 2;
    for (size_t i = 0; i < 2; ++i) std::copy_n(words.data() + i * half, half, ciphertext.c[i].limb(0));
    return ciphertext;
  };
  options.observe = [&rank, &link, observe = std::move(options.observe)](size_t instruction, Value value,
                                                                         const ckks::Ciphertext& result) {
    if (observe) observe(instruction, value, result);
    const auto found = rank.sends.find(value.id);
    if (found == rank.sends.end()) return;
    const size_t half = result.c[0].bytes() / sizeof(uint64_t);
    for (const int to : found->second) {
      Buffer words(2 * half);
      for (size_t i = 0; i < 2; ++i) std::copy_n(result.c[i].limb(0), half, words.data() + i * half);
      link.send(to, message_of(value), std::move(words));
    }
  };
  return options;
}

}  // namespace psm::program
