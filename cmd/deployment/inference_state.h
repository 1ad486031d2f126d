// An interrupted run of //cmd:infer goes on where it was: after every block the live ciphertexts are saved, with the
// outputs of the groups that are finished. The file belongs to one model, one key pair and one request; any other is
// refused. Without a path nothing is saved.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment/deployment.h"

namespace psm {

// Which run a state belongs to.
struct RunIdentity {
  Fingerprint keys;
  uint64_t model = 0, request = 0;  // checksums
  size_t groups = 0;                // of the request
};

// Of the note and of every residue, level and scale.
uint64_t checksum_of(const wire::CiphertextFile& request);

struct SavedRun {
  std::vector<std::map<std::string, Ciphertext>> outputs;  // by finished group
  std::optional<program::RunState> checkpoint;             // inside the first unfinished group
};

// The two must be given the same context and plan. Reading throws Error if the file belongs to another run, or holds
// more groups than the run has, or ciphertexts that do not fit the plan.
using LiveValues = std::vector<std::pair<program::Value, const Ciphertext*>>;
void write_run(const std::string& path, const Context& context, const program::Plan& plan,
               const RunIdentity& run, const std::vector<std::map<std::string, Ciphertext>>& outputs,
               size_t next_instruction, const LiveValues& live);
SavedRun read_run(ByteSource source, const Context& context, const program::Plan& plan,
                  const RunIdentity& run);

class InferenceState {
 public:
  // Reads the file if there is one; throws Error if it belongs to another run.
  InferenceState(const std::string& path, const Deployment& deployment, const wire::CiphertextFile& request,
                 size_t groups);

  size_t finished_groups() const { return saved_.outputs.size(); }
  // The saved state inside the first unfinished group, once.
  std::optional<program::RunState> take_checkpoint();
  // Makes a run of this group save itself after its blocks.
  void watch(size_t group, program::RunOptions& options);
  void finish_group(size_t group, std::map<std::string, Ciphertext> outputs);
  // All outputs, group by group in the order of the names.
  std::vector<Ciphertext> take_outputs(const std::vector<std::string>& names);
  void remove();

 private:
  void save(size_t next_instruction, const LiveValues& live) const;

  std::string path_;
  const Deployment& deployment_;
  RunIdentity run_;
  SavedRun saved_;
};

}  // namespace psm
