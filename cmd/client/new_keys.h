// A new key pair in the files of its folder: made one key at a time, since what is written need not stay in
// memory, and tested from the files before it is kept: the public key and every evaluation key are what the secret says
// they should be (ckks/scheme/client/key_verifier.h).
#pragma once

#include <cstdint>
#include <string>

#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/chain/key_request.h"
#include "cmd/protocol/key_files.h"

namespace psm::cmd {

struct NewKeys {
  size_t count = 0;
  uint64_t file_bytes = 0;  // of the evaluation keys
  double seconds = 0, check_seconds = 0;

  std::string text(const ckks::Context& context, const ckks::KeyRequest& request) const;  // two lines
};

// The files of a key pair that is being made, in a folder inside the pair's: a process that is killed leaves no part
// of a pair in its place, and what it leaves goes when keys are made there again.
class NewKeyFiles {
 public:
  // Makes the pair's folder unless it is there. Throws Error if one of the files is there already, or another
  // process is making them (where the file system has locks).
  explicit NewKeyFiles(const KeyFiles& places);
  ~NewKeyFiles();
  NewKeyFiles(const NewKeyFiles&) = delete;
  NewKeyFiles& operator=(const NewKeyFiles&) = delete;

  const KeyFiles& files() const { return files_; }
  // Moves all to their places, the secret key last: where it is, the pair is whole. Else they are removed, and with
  // them the pair's folder if it was made for them.
  void keep();

 private:
  // Open and locked.
  struct Folder {
    explicit Folder(const std::string& path);
    ~Folder();
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;
    bool made;
    int descriptor;
  };

  const KeyFiles places_;
  const std::string making_;  // the inner folder
  const KeyFiles files_;
  const Folder folder_;
};

// Throws Error, and leaves no file, if there are keys already, or if the new ones fail their test;
// Interrupted, likewise.
NewKeys make_key_files(const KeyFiles& places, const ckks::Context& context, const ckks::KeyRequest& request);

// Throws Error where the keys of the files are not what their secret says.
void check_key_files(const KeyFiles& files, const ckks::Context& context);

}  // namespace psm::cmd
