// Ranks by MPI: the build with --config=mpi.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/touched_memory.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/program/ranks/linked_run.h"
#include "ckks/program/ranks/mpi/mpi_link.h"
#include "cmd/server/ranks/ranks.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

// Messages of ranks to one another, by name.
enum RankMessage : uint64_t { kIdentity, kRankCosts, kRankPass, kReady, kRankReport, kFiles, kNextFile };
static_assert(kNextFile < program::kFirstValue);

constexpr uint64_t kRanksVersion = 4;  // raised whenever builds would not understand each other
constexpr uint64_t kNoFurtherPass = ~uint64_t{0};

Buffer words_of_numbers(const std::vector<uint64_t>& numbers) {
  Buffer words(numbers.size());
  std::copy(numbers.begin(), numbers.end(), words.begin());
  return words;
}

// Sends the same message to every rank but this one, rank 0.
void send_to_others(program::Link& link, RankMessage name, const std::vector<uint64_t>& numbers) {
  for (int to = 1; to < link.ranks(); ++to) link.send(to, name, words_of_numbers(numbers));
}

// Waits until all ranks are here.
void meet(program::Link& link) {
  if (link.rank() != 0) {
    link.send(0, kReady, Buffer(1));
    link.receive(0, kReady);
    return;
  }
  for (int rank = 1; rank < link.ranks(); ++rank) link.receive(rank, kReady);
  for (int rank = 1; rank < link.ranks(); ++rank) link.send(rank, kReady, Buffer(1));
}

// Throws Error unless each rank of this machine can take so much memory. Nobody takes any before all have looked.
// Messages on their way are not counted (rank_plan.h).
void require_memory_here(program::Link& link, size_t bytes) {
  require_memory(bytes, link.ranks_here());
  meet(link);
}

// A rank's part of a pass.
struct Share {
  Share(const PlannedPass& whole, const program::CostModel& costs, const program::ScheduleOptions& options,
        program::Link& link, wire::EvaluationKeysReader& reader, const MemoryFlag& memory, size_t beside)
      : schedule(program::schedule(whole.plan, costs, options)),
        rank_plan(program::rank_plan(whole.plan, schedule, options, link.rank(), whole.context->chain())),
        pass(whole.context, rank_plan.plan, whole.bootstraps) {
    pass.reading.encoded_limit =
        memory.left_for_plaintexts(pass.reading.least_bytes() + static_cast<double>(beside),
                                   pass.reading.encoded_limit, available_memory_bytes(link.ranks_here()));
    require_memory_here(link, pass.server_bytes() + beside);
    {
      TouchedMemory memory_of_a_pass(static_cast<size_t>(pass.reading.run_bytes()));
      keys = read_keys(reader, pass.keys);
      memory_of_a_pass.finish();
    }
    server.emplace(pass, keys);
  }

  program::Schedule schedule;
  program::RankPlan rank_plan;
  PlannedPass pass;
  ckks::EvaluationKeys keys;
  std::optional<Server> server;
};

// Several processes, the ranks, that compute each pass together (ckks/program/ranks): each of them loads the keys of
// its own instructions, encodes and maps their constants alone, and sends what others need.
//
// Rank 0 says at which instruction a pass begins; every rank then makes the same schedule from the same costs.
class RankedServer final : public SharedPasses {
 public:
  // All ranks measure their machine at the same time, as they will compute; the figures of rank 0 count.
  RankedServer(const PlannedPass& whole, wire::EvaluationKeysReader& keys, program::Link& link,
               const program::LinkModel& model, const MemoryFlag& memory, size_t beside, bool gathers)
      : whole_(whole), keys_(keys), link_(link), memory_(memory), beside_(beside) {
    options_ = {.ranks = link.ranks(), .link = model, .gathers = gathers};
    meet(link);
    program::KernelSeconds kernels = program::calibrate(*whole.context).kernels;
    std::vector<uint64_t> words(kernels.seconds.size() + 1, gathers);
    if (link.rank() == 0) {
      std::transform(kernels.seconds.begin(), kernels.seconds.end(), words.begin(),
                     [](double seconds) { return std::bit_cast<uint64_t>(seconds); });
      send_to_others(link, kRankCosts, words);
    } else {
      const Buffer theirs = link.receive(0, kRankCosts).second;
      std::transform(theirs.begin(), theirs.begin() + kernels.seconds.size(), kernels.seconds.begin(),
                     [](uint64_t word) { return std::bit_cast<double>(word); });
      options_.gathers = theirs[kernels.seconds.size()] != 0;
    }
    costs_.emplace(program::costs_of(*whole.context, whole.bootstraps, kernels));
  }

  program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                         const program::RunOptions& options) override {
    return run_from(0, inputs, options);
  }
  program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options) override {
    std::map<std::string, ckks::Ciphertext> live;
    for (auto& [value, ciphertext] : checkpoint.live)
      live.emplace(program::name_of(value), std::move(ciphertext));
    return run_from(checkpoint.next_instruction, live, options);
  }
  void serve() override {
    for (;;) {
      const Buffer words = link_.receive(0, kRankPass).second;
      if (words[0] == kNoFurtherPass) break;
      begin(words[0]);
      compute({}, {});
    }
    const Report mine = report();
    Buffer words(sizeof mine / sizeof(uint64_t));
    std::memcpy(words.data(), &mine, sizeof mine);
    link_.send(0, kRankReport, std::move(words));
  }
  Figures finish() override {
    send_to_others(link_, kRankPass, {kNoFurtherPass});
    Figures figures;
    const double passes = std::max(passes_, 1);
    for (int rank = 0; rank < link_.ranks(); ++rank) {
      Report of = report();
      if (rank > 0) {
        const Buffer words = link_.receive(rank, kRankReport).second;
        std::memcpy(static_cast<void*>(&of), words.data(),
                    std::min(sizeof of, words.size() * sizeof(uint64_t)));
      }
      figures.row()
          .both("rank", "rank", rank)
          .number("instructions", "instructions", of.instructions, "%.0f")
          .number("predicted_seconds", "computing, predicted", of.predicted, seconds_text)
          .number("seconds", "measured", of.computed / passes, seconds_text)
          .number("waited_seconds", "waiting", of.waited / passes, seconds_text)
          .number("sent_bytes", "sends", of.sent_bytes, bytes_text)
          .number("keys", "keys", of.keys, "%.0f")
          .number("key_bytes", "their bytes", of.key_bytes, bytes_text)
          .number("run_bytes", "a run", of.run_bytes, bytes_text)
          .number("peak_rss_bytes", "peak memory", of.peak_bytes, bytes_text);
    }
    return figures;
  }
  Figures summary() const override {
    Figures figures;
    if (!share_) return figures;
    const program::Schedule& s = share_->schedule;
    const double measured = seconds_ / std::max(passes_, 1);
    figures.row()
        .both("ranks", "ranks", link_.ranks())
        .both("pass", "a pass", Json::Object{{"predicted_seconds", s.seconds}, {"seconds", measured}},
              message(seconds_text(s.seconds), " predicted, ", seconds_text(measured), " measured (",
                      format("%.2f", measured / s.seconds), " of it)"))
        .number("total_seconds", "work of all ranks", s.total, seconds_text)
        .number("critical_seconds", "critical path", s.critical_path, seconds_text)
        .number("critical_bootstrap_seconds", "in bootstraps", s.critical_bootstraps, seconds_text);
    return figures;
  }

 private:
  struct Report {
    double instructions = 0, predicted = 0, computed = 0, waited = 0, sent_bytes = 0, keys = 0, key_bytes = 0,
           run_bytes = 0, peak_bytes = 0;
  };

  void begin(size_t first) {
    if (share_ && options_.first == first) return;
    share_.reset();  // and its keys
    buffer_pool::trim();
    options_.first = first;
    share_ = std::make_unique<Share>(whole_, *costs_, options_, link_, keys_, memory_, beside_);
    meet(link_);
  }
  program::RunResult run_from(size_t first, const std::map<std::string, ckks::Ciphertext>& inputs,
                              const program::RunOptions& options) {
    send_to_others(link_, kRankPass, {first});
    begin(first);
    program::RunOptions mine = options;
    const std::map<size_t, size_t>& checkpoints = share_->rank_plan.checkpoints;
    mine.checkpoint_after.clear();
    if (options.checkpoint) {
      for (const auto& [at, next] : checkpoints) mine.checkpoint_after.push_back(at);
      mine.checkpoint = [&](size_t next, const auto& live) {
        options.checkpoint(checkpoints.at(next - 1), live);
      };
    }
    if (options.progress)
      mine.progress = [&](size_t done, size_t total) {
        const size_t all = whole_.plan.program.instructions.size();
        options.progress(first + (all - first) * done / total, all);
      };
    return compute(inputs, std::move(mine));
  }
  program::RunResult compute(const std::map<std::string, ckks::Ciphertext>& inputs,
                             program::RunOptions options) {
    const program::RankPlan& mine = share_->rank_plan;
    program::RunResult result = share_->server->run(
        inputs, program::linked(std::move(options), mine, *whole_.context, keys_.fingerprint(), link_));
    ++passes_;
    for (size_t i = 0; i < result.seconds.size(); ++i) {
      seconds_ += result.seconds[i];
      if (mine.plan.program.instructions[i].opcode == program::Opcode::kInput) waited_ += result.seconds[i];
    }
    return result;
  }
  Report report() const {
    Report report{.computed = seconds_ - waited_,
                  .waited = waited_,
                  .peak_bytes = static_cast<double>(peak_resident_bytes())};
    if (!share_) return report;
    report.instructions = static_cast<double>(share_->pass.plan.program.instructions.size());
    report.keys = static_cast<double>(share_->pass.keys.count(whole_.context->chain()));
    report.key_bytes = share_->pass.reading.key_bytes;
    report.run_bytes = share_->pass.reading.run_bytes();
    for (const program::Transfer& transfer : share_->schedule.transfers)
      if (transfer.from == link_.rank()) report.sent_bytes += static_cast<double>(transfer.bytes);
    report.predicted = share_->schedule.busy()[static_cast<size_t>(link_.rank())];
    return report;
  }

  const PlannedPass& whole_;
  wire::EvaluationKeysReader& keys_;
  program::Link& link_;
  const MemoryFlag& memory_;
  const size_t beside_;
  program::ScheduleOptions options_;
  std::optional<program::CostModel> costs_;
  std::unique_ptr<Share> share_;  // of passes that begin at options_.first
  int passes_ = 0;
  double seconds_ = 0, waited_ = 0;  // of all passes
};

class MpiRanks final : public Ranks {
 public:
  explicit MpiRanks(std::unique_ptr<program::Link> link) : link_(std::move(link)) {}

  bool leads() const override { return link_->rank() == 0; }
  int here() const override { return link_->ranks_here(); }

  void require_same(const program::ProgramDigest& digest, ckks::Fingerprint keys, bool is_folder,
                    const std::string& link) override {
    model_ = program::parse_link(link);
    std::vector<uint64_t> mine(5, kRanksVersion);
    std::memcpy(mine.data() + 1, digest.data(), digest.size());
    mine.insert(mine.end(), {keys.parameters, keys.key, is_folder, std::bit_cast<uint64_t>(model_.latency),
                             std::bit_cast<uint64_t>(model_.bandwidth)});
    if (link_->rank() != 0) return link_->send(0, kIdentity, words_of_numbers(mine));
    for (int rank = 1; rank < link_->ranks(); ++rank) {
      const Buffer theirs = link_->receive(rank, kIdentity).second;
      const auto differs = [&](size_t from, size_t to) {
        return theirs.size() != mine.size() ||
               !std::equal(mine.begin() + from, mine.begin() + to, theirs.begin() + from);
      };
      const char* what = differs(0, 1)             ? "another version of this command"
                         : differs(1, 5)           ? "another --program"
                         : differs(5, 7)           ? "--keys of another key pair"
                         : differs(7, 8)           ? "a file in place of a folder, or the reverse, as --in"
                         : differs(8, mine.size()) ? "another --link"
                                                   : nullptr;
      if (what != nullptr)
        throw Error(message("rank ", rank, " has ", what, " than rank 0; give all ranks the same"));
    }
  }

  std::unique_ptr<SharedPasses> share(const PlannedPass& whole, wire::EvaluationKeysReader& keys,
                                      const MemoryFlag& memory, size_t beside, bool gathers) override {
    return std::make_unique<RankedServer>(whole, keys, *link_, model_, memory, beside, gathers);
  }

  size_t deal(std::vector<std::string> names, size_t& most_groups) override {
    if (!leads()) {
      const Buffer words = link_->receive(0, kFiles).second;
      most_groups = words[1];
      return words[0];
    }
    files_ = std::move(names);
    send_to_others(*link_, kFiles, {files_.size(), most_groups});
    if (!files_.empty()) dealer_ = std::jthread([this] { deal_to_others(); });
    return files_.size();
  }
  void require_memory_of_each(size_t bytes) override { require_memory_here(*link_, bytes); }
  std::string next() override {
    if (leads()) return take();
    link_->send(0, kNextFile, Buffer(1));
    return program::text_of(link_->receive(0, kNextFile).second);
  }

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
  std::string take() {
    const size_t at = taken_++;
    return at < files_.size() ? files_[at] : "";
  }
  // Until every other rank has heard that there are no more.
  void deal_to_others() {
    for (int busy = link_->ranks() - 1; busy > 0;) {
      const int from = link_->receive(program::kAnyRank, kNextFile).first;
      const std::string name = take();
      link_->send(from, kNextFile, program::words_of(name));
      busy -= name.empty();
    }
  }

  std::unique_ptr<program::Link> link_;
  program::LinkModel model_;
  std::vector<std::string> files_;  // of rank 0
  std::atomic<size_t> taken_ = 0;
  std::jthread dealer_;  // ends before what it uses
};

}  // namespace

std::unique_ptr<Ranks> open_ranks() {
  std::unique_ptr<program::Link> link = program::open_link();
  return link ? std::make_unique<MpiRanks>(std::move(link)) : nullptr;
}

}  // namespace psm::cmd
