// An interrupted run of //cmd:infer goes on where it was: after every block the live ciphertexts are saved, with the
// outputs of the groups that are finished. The file belongs to one model, one key pair and one request; any other is
// refused. Without a path nothing is saved.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ckks/program/encrypted_machine.h"
#include "ckks/wire/ciphertext_file.h"
#include "cmd/deployment.h"

namespace psm {

class InferenceState {
 public:
  // Reads the file if there is one; throws Error if it belongs to another run.
  InferenceState(const std::string& path, const Deployment& deployment, const wire::CiphertextFile& request);

  size_t finished_groups() const { return outputs_.size(); }
  // The saved state inside the first unfinished group, once.
  std::optional<program::Checkpoint> take_checkpoint();
  // Makes a run of this group save itself after its blocks.
  void watch(size_t group, program::RunOptions& options);
  void finish_group(size_t group, std::map<std::string, Ciphertext> outputs);
  // All outputs, group by group in the order of the names.
  std::vector<Ciphertext> take_outputs(const std::vector<std::string>& names);
  void remove();

 private:
  using Live = std::vector<std::pair<program::Value, const Ciphertext*>>;
  void save(size_t next_instruction, const Live& live) const;

  std::string path_;
  const Deployment& deployment_;
  Fingerprint fingerprint_;
  uint64_t request_checksum_ = 0;
  std::vector<std::map<std::string, Ciphertext>> outputs_;
  std::optional<program::Checkpoint> checkpoint_;
};

}  // namespace psm
