// How many answers were shared under a key pair: a small file beside its secret key, because flooding
// protects a limited number of them (ckks/scheme/sharing/flooding.h), in all runs together.
//
// The first answers fix the limit, for the noise of all depends on it. What is spent is on the disk before
// anything is shown: a run that dies in between has spent it for nothing. Runs of one machine at a time: the
// secret key's file is locked. //cmd:keygen makes the record with the keys, and without it nothing is shared,
// so deleting it is no reset.
//
// What it cannot do: an older copy of the folder that is put back, or the secret key used elsewhere, counts
// anew, and nobody here can see it. Nor does the checksum authenticate: who can write beside the secret key
// can read the key. The record protects the holder of the key from accidents, not from themselves.
#pragma once

#include <cstdint>
#include <string>

#include "cmd/protocol/key_files.h"

namespace psm::cmd {

class SharingRecord {
 public:
  // Nothing shared yet, no limit yet.
  static void create(const KeyFiles& files, uint64_t key_fingerprint);

  // Locks the record for as long as the object lives. Throws Error if it is missing, damaged, or another key
  // pair's.
  SharingRecord(const KeyFiles& files, uint64_t key_fingerprint);

  uint64_t shared() const { return shared_; }
  uint64_t limit() const { return limit_; }  // 0: none was fixed yet

  // Throws Error, and spends nothing, if `answers` more pass the limit or another limit was fixed before.
  // When it returns, they are on the disk.
  void spend(uint64_t answers, uint64_t limit);

 private:
  // Waits for other processes.
  struct Lock {
    explicit Lock(const std::string& path);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;
    const int descriptor;
  };

  std::string path_;
  uint64_t key_, shared_ = 0, limit_ = 0;
  Lock lock_;
};

}  // namespace psm::cmd
