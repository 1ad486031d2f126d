#include "cmd/server/ranks/ranked_server.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/touched_memory.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/scheme_figures.h"
#include "cmd/terminal/table.h"

namespace psm::cmd {
namespace {

constexpr uint64_t kNoFurtherPass = ~uint64_t{0};

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

}  // namespace

Buffer words_of_numbers(const std::vector<uint64_t>& numbers) {
  Buffer words(numbers.size());
  std::copy(numbers.begin(), numbers.end(), words.begin());
  return words;
}

void send_to_others(program::Link& link, RankMessage name, const std::vector<uint64_t>& numbers) {
  for (int to = 1; to < link.ranks(); ++to) link.send(to, name, words_of_numbers(numbers));
}

// A rank's part of a pass.
struct RankedServer::Share {
  Share(const PlannedPass& whole, const program::CostModel& costs, const program::ScheduleOptions& options,
        int rank, wire::EvaluationKeysReader& reader, const MemoryFlag& memory)
      : schedule(program::schedule(whole.plan, costs, options)),
        rank_plan(program::rank_plan(whole.plan, schedule, options, rank, whole.context->chain())),
        pass(whole.context, rank_plan.plan) {
    pass.reading.encoded_limit =
        memory.left_for_plaintexts(pass.reading.least_bytes(), pass.reading.encoded_limit);
    require_memory(pass.server_bytes());
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

RankedServer::RankedServer(const PlannedPass& whole, wire::EvaluationKeysReader& keys, program::Link& link,
                           const program::LinkModel& model, const MemoryFlag& memory, bool gathers)
    : whole_(whole), keys_(keys), link_(link), memory_(memory) {
  options_ = {.ranks = link.ranks(), .link = model, .gathers = gathers};
  program::KernelSeconds kernels;
  std::vector<uint64_t> words(kernels.seconds.size() + 1, gathers);
  if (link.rank() == 0) {
    kernels = program::calibrate(*whole.context).kernels;
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

RankedServer::~RankedServer() = default;

void RankedServer::begin(size_t first) {
  if (share_ && options_.first == first) return;
  share_.reset();  // and its keys
  options_.first = first;
  share_ = std::make_unique<Share>(whole_, *costs_, options_, link_.rank(), keys_, memory_);
  meet(link_);
}

program::RunResult RankedServer::compute(const std::map<std::string, ckks::Ciphertext>& inputs,
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

program::RunResult RankedServer::run_from(size_t first, const std::map<std::string, ckks::Ciphertext>& inputs,
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

program::RunResult RankedServer::run(const std::map<std::string, ckks::Ciphertext>& inputs,
                                     const program::RunOptions& options) {
  return run_from(0, inputs, options);
}

program::RunResult RankedServer::resume(program::RunState checkpoint, const program::RunOptions& options) {
  std::map<std::string, ckks::Ciphertext> live;
  for (auto& [value, ciphertext] : checkpoint.live)
    live.emplace(program::name_of(value), std::move(ciphertext));
  return run_from(checkpoint.next_instruction, live, options);
}

void RankedServer::serve() {
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

RankedServer::Report RankedServer::report() const {
  Report report{.computed = seconds_ - waited_,
                .waited = waited_,
                .peak_bytes = static_cast<double>(peak_resident_bytes())};
  if (!share_) return report;
  report.instructions = static_cast<double>(share_->pass.plan.program.instructions.size());
  report.keys = static_cast<double>(share_->pass.keys.count(whole_.context->chain()));
  report.key_bytes = share_->pass.reading.key_bytes();
  report.run_bytes = share_->pass.reading.run_bytes();
  for (const program::Transfer& transfer : share_->schedule.transfers)
    if (transfer.from == link_.rank()) report.sent_bytes += static_cast<double>(transfer.bytes);
  report.predicted = share_->schedule.busy()[static_cast<size_t>(link_.rank())];
  return report;
}

Figures RankedServer::finish() {
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

Figures RankedServer::summary() const {
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

}  // namespace psm::cmd
