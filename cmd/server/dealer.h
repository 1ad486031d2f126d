// Gives the files of a folder to ranks, one at a time, so that no rank is idle while any is left.
#pragma once

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cmd/server/ranked_server.h"

namespace psm::cmd {

class Dealer {
 public:
  // Rank 0 has the names of the files; the others wait for their number.
  Dealer(program::Link& link, std::vector<std::string> names)
      : link_(link), names_(std::move(names)), count_(names_.size()) {
    if (link.rank() != 0) {
      count_ = link.receive(0, kFiles).second[0];
      return;
    }
    send_to_others(link, kFiles, {count_});
    if (count_ > 0) thread_ = std::thread([this] { serve(); });
  }
  ~Dealer() {
    if (thread_.joinable()) thread_.join();
  }
  Dealer(const Dealer&) = delete;
  Dealer& operator=(const Dealer&) = delete;

  size_t count() const { return count_; }
  // The next file of this rank; empty if none is left.
  std::string next() {
    if (link_.rank() == 0) return take();
    link_.send(0, kNextFile, Buffer(1));
    return program::text_of(link_.receive(0, kNextFile).second);
  }

 private:
  std::string take() {
    const size_t at = taken_++;
    return at < names_.size() ? names_[at] : "";
  }
  // Until every other rank has heard that there are no more.
  void serve() {
    for (int busy = link_.ranks() - 1; busy > 0;) {
      const int from = link_.receive(program::kAnyRank, kNextFile).first;
      const std::string name = take();
      link_.send(from, kNextFile, program::words_of(name));
      busy -= name.empty();
    }
  }

  program::Link& link_;
  const std::vector<std::string> names_;
  size_t count_;
  std::atomic<size_t> taken_ = 0;
  std::thread thread_;
};

}  // namespace psm::cmd
