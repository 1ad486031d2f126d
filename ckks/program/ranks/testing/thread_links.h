// Ranks that are threads of one process, for tests: what one sends lies in the mailbox of the other at once.
#pragma once

#include <exception>
#include <functional>
#include <thread>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/program/ranks/link.h"

namespace psm::program {

class ThreadLink final : public Link {
 public:
  ThreadLink(std::vector<Mailbox>& mailboxes, int rank) : mailboxes_(mailboxes), rank_(rank) {}
  int rank() const override { return rank_; }
  int ranks() const override { return static_cast<int>(mailboxes_.size()); }
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
};

// Calls body(link) on each rank. An exception ends the process, since the other ranks would wait.
inline void on_ranks(int ranks, const std::function<void(Link&)>& body) {
  std::vector<Mailbox> mailboxes(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r) {
    threads.emplace_back([&, r] {
      ThreadLink link(mailboxes, r);
      try {
        body(link);
      } catch (const std::exception& error) {
        link.fail(error.what(), 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace psm::program
