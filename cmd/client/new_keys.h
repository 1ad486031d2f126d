// A new key pair in the files of its folder. Keys are made and written one at a time, so they need not stay
// in memory. Before they are kept, the files are tested: the public key and every evaluation key must fulfil
// their equations under the secret (ckks/scheme/client/key_verifier.h).
#pragma once

#include <cstdint>
#include <string>

#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "cmd/protocol/locked_folder.h"
#include "cmd/protocol/plan_ends.h"

namespace psm::cmd {

struct NewKeys {
  size_t count = 0;
  uint64_t file_bytes = 0;  // of the evaluation keys
  double seconds = 0, check_seconds = 0;

  std::string text(const ckks::Context& context, const ckks::KeyRequest& request) const;  // two lines
};

// The files of a new key pair, in a folder inside the pair's folder. So a killed process leaves no part of a
// pair in its place, and the next key generation removes what it left. A pair that is whole is moved to its place even if
// the process is killed meanwhile: the next key generation goes on with that.
class NewKeyFiles {
 public:
  // Makes the pair's folder unless it exists. Throws Error if one of the files exists already, or if another
  // process is making them (on file systems with locks).
  explicit NewKeyFiles(const KeyFiles& places);
  ~NewKeyFiles();
  NewKeyFiles(const NewKeyFiles&) = delete;
  NewKeyFiles& operator=(const NewKeyFiles&) = delete;

  const KeyFiles& files() const { return files_; }
  // Moves all files to their places, the secret key last: if it is there, the pair is whole. Without keep()
  // the files are removed, and the pair's folder too if it was made for them.
  void keep();

 private:
  void move_whole();

  const KeyFiles places_;
  const std::string making_, whole_;  // the inner folder, while files are made and while they are moved
  const KeyFiles files_;
  const LockedFolder folder_;
};

// Throws Error if there are keys already, or if the new ones fail their test; throws Interrupted after an
// interruption. All leave no file.
NewKeys make_key_files(const KeyFiles& places, const ckks::Context& context, const ckks::KeyRequest& request);

// Throws Error if a key in the files does not fulfil its equation under the secret.
void check_key_files(const KeyFiles& files, const ckks::Context& context);

}  // namespace psm::cmd
