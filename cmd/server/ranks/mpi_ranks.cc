// Ranks by MPI: the build with --config=mpi.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/ranks/mpi/mpi_link.h"
#include "cmd/server/ranks/ranked_server.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kRanksVersion = 1;  // raised whenever builds would not understand each other

// Gives the files of a folder to ranks, one at a time.
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

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(std::unique_ptr<program::Link> link) : link_(std::move(link)) {}

  bool leads() const override { return link_->rank() == 0; }

  void require_same(const program::ProgramDigest& digest, ckks::Fingerprint keys) override {
    std::vector<uint64_t> mine{kRanksVersion, 0, 0, 0, 0, keys.parameters, keys.key};
    std::memcpy(mine.data() + 1, digest.data(), digest.size());
    if (link_->rank() != 0) return link_->send(0, kIdentity, words_of_numbers(mine));
    for (int rank = 1; rank < link_->ranks(); ++rank) {
      const Buffer theirs = link_->receive(rank, kIdentity).second;
      const auto differs = [&](size_t from, size_t to) {
        return theirs.size() != mine.size() ||
               !std::equal(mine.begin() + from, mine.begin() + to, theirs.begin() + from);
      };
      const char* what = differs(0, 1)   ? "another version of this command"
                         : differs(1, 5) ? "another --program"
                         : differs(5, 7) ? "--keys of another key pair"
                                         : nullptr;
      if (what != nullptr)
        throw Error(message("rank ", rank, " has ", what, " than rank 0; give all ranks the same"));
    }
  }

  std::unique_ptr<SharedPasses> share(const PlannedPass& whole, wire::EvaluationKeysReader& keys,
                                      const std::string& link, const MemoryFlag& memory,
                                      bool gathers) override {
    return std::make_unique<RankedServer>(whole, keys, *link_, program::parse_link(link), memory, gathers);
  }

  size_t deal(std::vector<std::string> names) override {
    dealer_.emplace(*link_, std::move(names));
    return dealer_->count();
  }
  std::string next() override { return dealer_->next(); }

  std::string gather(const std::string& text) override {
    if (!leads()) {
      link_->send(0, kRankReport, program::words_of(text));
      return "";
    }
    std::string all = text;
    for (int rank = 1; rank < link_->ranks(); ++rank) {
      const std::string theirs = program::text_of(link_->receive(rank, kRankReport).second);
      all += (all.empty() || theirs.empty() ? "" : ", ") + theirs;
    }
    return all;
  }

  [[noreturn]] void fail(const std::string& message, int exit_code) override {
    link_->fail(message, exit_code);
    std::abort();  // not reached, which a compiler does not see through a virtual call
  }

 private:
  std::unique_ptr<program::Link> link_;
  std::optional<Dealer> dealer_;
};

}  // namespace

std::unique_ptr<Ranks> open_ranks() {
  std::unique_ptr<program::Link> link = program::open_link();
  return link ? std::make_unique<MpiRanks>(std::move(link)) : nullptr;
}

}  // namespace psm::cmd
