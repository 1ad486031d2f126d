// The state of an interrupted run of //cmd:infer, from which it continues: a folder with a file for each
// group of prompts. A file has the live ciphertexts after the last finished block; after the very last block
// these are the group's answers. So a save writes only what is new. The files belong to one model, one key
// pair and one request; others are refused. Without a folder nothing is saved.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/wire/ciphertext_reader.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {

class InferenceState {
 public:
  using Outputs = std::map<std::string, ckks::Ciphertext>;
  // The values of program::live_after(plan, next_instruction - 1), in its order.
  using LiveValues = std::vector<std::pair<program::Value, const ckks::Ciphertext*>>;

  // Makes the folder unless it exists, and reads its files. Throws Error if it cannot be written to or
  // belongs to another run.
  InferenceState(const std::string& folder, const PlannedPass& pass, const wire::CiphertextReader& request,
                 size_t groups);
  ~InferenceState();  // removes the folder unless there is something in it
  InferenceState(const InferenceState&) = delete;
  InferenceState& operator=(const InferenceState&) = delete;

  const std::vector<Outputs>& answers() const { return answers_; }  // of the finished groups
  // The saved state inside the first unfinished group. Can be taken once.
  std::optional<program::RunState> take_checkpoint() { return std::exchange(checkpoint_, std::nullopt); }
  // Makes a run of the first unfinished group save itself after each block. A failed save only warns.
  void watch(program::RunOptions& options);
  void finish_group(Outputs outputs);
  // Whether the save of a finished group failed, so that only answers() has it.
  bool lacks_answers() const { return lacks_answers_; }
  // The saved state in words: "1 of 2 groups of prompts, and the next up to instruction 40 of 300"; empty if
  // there is none.
  std::string text() const;
  void remove();  // the files

 private:
  std::string path(size_t group) const { return message(folder_, "/group-", group); }
  // Throws Error if the file belongs to another group or other keys, or lacks values that the plan needs there.
  program::RunState load(size_t group) const;
  bool save(size_t next_instruction, const LiveValues& live);  // false: it failed

  std::string folder_;
  const PlannedPass& pass_;
  ckks::Fingerprint keys_;
  uint64_t request_;  // its checksum
  size_t groups_;
  std::vector<Outputs> answers_;
  std::optional<program::RunState> checkpoint_;
  size_t saved_ = 0;  // instructions of the first unfinished group
  bool lacks_answers_ = false;
};

}  // namespace psm::cmd
