// Several processes, the ranks, that compute each pass together (ckks/program/ranks): each of them loads the keys of its
// own instructions, encodes and maps their constants alone, and sends what others need.
//
// Rank 0 says at which instruction a pass begins; every rank then makes the same schedule from the same costs, which
// rank 0 measured.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckks/program/ranks/linked_run.h"
#include "cmd/server/ranks/ranks.h"

namespace psm::cmd {

// Messages of ranks to one another, by name.
enum RankMessage : uint64_t { kIdentity, kRankCosts, kRankPass, kReady, kRankReport, kFiles, kNextFile };
static_assert(kNextFile < program::kFirstValue);

Buffer words_of_numbers(const std::vector<uint64_t>& numbers);
// Sends the same message to every rank but this one, rank 0.
void send_to_others(program::Link& link, RankMessage name, const std::vector<uint64_t>& numbers);

class RankedServer final : public SharedPasses {
 public:
  // Rank 0 measures this machine.
  RankedServer(const PlannedPass& whole, wire::EvaluationKeysReader& keys, program::Link& link,
               const program::LinkModel& model, const MemoryFlag& memory, bool gathers);
  ~RankedServer() override;

  program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                         const program::RunOptions& options) override;
  program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options) override;
  void serve() override;
  Figures finish() override;
  Figures summary() const override;

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
