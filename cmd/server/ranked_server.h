// Several processes, the ranks, that compute each pass together (ckks/program/ranks): each of them loads the keys of its
// own instructions, encodes and maps their constants alone, and sends what others need.
//
// Rank 0 has prompts, states and answers. It says at which instruction a pass begins; every rank then makes the same
// schedule from the same costs, which rank 0 measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckks/program/ranks/linked_run.h"
#include "ckks/wire/key_file.h"
#include "cmd/server/device_flag.h"
#include "cmd/server/server.h"
#include "cmd/terminal/figures.h"

namespace psm::cmd {

// Messages of ranks to one another, by name.
enum RankMessage : uint64_t { kIdentity, kRankCosts, kRankPass, kReady, kRankReport, kFiles, kNextFile };
static_assert(kNextFile < program::kFirstValue);

// Sends the same message to every rank but this one, rank 0.
void send_to_others(program::Link& link, RankMessage name, const std::vector<uint64_t>& numbers);

// Tells rank 0 what this rank would compute with. Rank 0 throws Error if it is not the same everywhere.
void require_same(program::Link& link, const program::ProgramDigest& digest, ckks::Fingerprint keys);

class RankedServer final : public Passes {
 public:
  // `gathers`: whether states are saved, which rank 0 must have then. Rank 0 measures this machine.
  RankedServer(const PlannedPass& whole, wire::EvaluationKeysReader& keys, program::Link& link,
               const program::LinkModel& model, const MemoryFlag& memory, bool gathers);
  ~RankedServer() override;

  // Rank 0. A run's options have a state's instructions of the whole plan, and no observer.
  program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                         const program::RunOptions& options) override;
  program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options) override;
  // The other ranks: computes passes until rank 0 calls finish(), and reports to it.
  void serve();
  // Rank 0: no further pass. Returns a row for each rank, seconds of a pass. And what concerns all of them.
  Figures finish();
  Figures summary() const;

 private:
  struct Share;
  struct Report {
    double instructions = 0, predicted = 0, computed = 0, waited = 0, sent_bytes = 0, keys = 0, key_bytes = 0,
           run_bytes = 0, peak_bytes = 0;
  };
  void begin(size_t first);
  program::RunResult run_from(size_t first, const std::map<std::string, ckks::Ciphertext>& inputs,
                              const program::RunOptions& options);
  Report report() const;
  program::RunResult compute(const std::map<std::string, ckks::Ciphertext>& inputs, program::RunOptions);

  const PlannedPass& whole_;
  wire::EvaluationKeysReader& keys_;
  program::Link& link_;
  const MemoryFlag& memory_;
  program::ScheduleOptions options_;
  std::optional<program::CostModel> costs_;
  std::unique_ptr<Share> share_;  // of passes that begin at options_.first
  int passes_ = 0;
  double seconds_ = 0, waited_ = 0;  // of all passes
};

}  // namespace psm::cmd
