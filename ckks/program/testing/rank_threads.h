// Ranks that are threads of one process, for tests: what one sends lies in the mailbox of the other at once.
#pragma once

#include <exception>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/program/ranks/linked_run.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::program {

class ThreadLink final : public Link {
 public:
  ThreadLink(std::vector<Mailbox>& mailboxes, int rank, uint64_t largest_name = ~uint64_t{0})
      : mailboxes_(mailboxes), rank_(rank), largest_name_(largest_name) {}
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(mailboxes_.size()); }
  int ranks_here() const override { return ranks(); }
  uint64_t largest_name() const override { return largest_name_; }
  void send(int to, uint64_t name, Buffer words) override {
    mailboxes_.at(static_cast<size_t>(to)).put(rank_, name, std::move(words));
  }
  std::pair<int, Buffer> receive(int from, uint64_t name) override {
    return mailboxes_[static_cast<size_t>(rank_)].take(from, name);
  }
  [[noreturn]] void fail(const std::string& text, int) override {
    check_failed("a rank of a test", __FILE__, __LINE__, text);
  }

 private:
  std::vector<Mailbox>& mailboxes_;
  const int rank_;
  const uint64_t largest_name_;
};

using Ciphertexts = std::map<std::string, ckks::Ciphertext>;
using States = std::map<size_t, Ciphertexts>;  // by next instruction, the values after a block by name_of()

// A pass on threads, and the states that rank 0 was handed. An exception ends the process, because the other ranks
// would wait.
inline std::pair<Ciphertexts, States> run_on_threads(const Plan& plan, const Schedule& schedule,
                                                     const ScheduleOptions& options,
                                                     const ckks::TestParty& party,
                                                     const Ciphertexts& inputs) {
  Ciphertexts outputs;
  const Ciphertexts none;
  States states;
  const auto run_rank = [&](Link& link) {
    const RankPlan rank = rank_plan(plan, schedule, options, link.rank(), party.context.chain());
    const ckks::Bootstrappers bootstrappers =
        ckks::make_bootstrappers(party.context, party.encoder, bootstrap_kinds(rank.plan));
    EncryptedMachine machine(rank.plan, party.encoder, *party.evaluator, &bootstrappers);
    RunOptions run;
    for (const auto& [at, next] : rank.checkpoints) run.checkpoint_after.push_back(at);
    run.checkpoint = [&](size_t next, const auto& live) {
      for (const auto& [value, ciphertext] : live)
        states[rank.checkpoints.at(next - 1)].emplace(name_of(value), ciphertext->clone());
    };
    RunResult result = machine.run(link.rank() == 0 ? inputs : none,
                                   linked(std::move(run), rank, party.context, party.keys.fingerprint, link));
    if (link.rank() == 0) outputs = std::move(result.outputs);
  };
  std::vector<Mailbox> mailboxes(static_cast<size_t>(options.ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < options.ranks; ++r) {
    threads.emplace_back([&, r] {
      ThreadLink link(mailboxes, r);
      try {
        run_rank(link);
      } catch (const std::exception& error) {
        link.fail(error.what(), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return {std::move(outputs), std::move(states)};
}

}  // namespace psm::program
