// Files of evaluation keys. They are written and read one key at a time, so the file may be larger than
// memory. It has a seed for every `a` half and so less than half the bytes of the keys in memory.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ckks/scheme/public/keys.h"
#include "ckks/wire/container.h"

namespace psm::wire {

using ckks::KeyRole;

// The bytes of the file of all keys of a request.
uint64_t evaluation_keys_file_bytes(const ckks::Context& context, const ckks::KeyRequest& request);

class EvaluationKeysWriter {
 public:
  EvaluationKeysWriter(const std::string& path, const ckks::Context& context, ckks::Fingerprint fingerprint);
  // `element`: of kGalois and kFromEphemeral, else 0.
  void write(KeyRole role, ckks::GaloisElement element, const ckks::KeySwitchKey& key);
  void commit() { writer_.commit(); }

 private:
  const ckks::Context& context_;
  ContainerWriter writer_;
};

// Keys one at a time, in any order. Opening reads the head of each key and no polynomial; load() reads one
// key and verifies its checksum.
class EvaluationKeysReader {
 public:
  struct Entry : ckks::KeyName {
    uint64_t position, bytes;  // of its record
  };

  // Throws Error for a key that does not fit the context, and for two with the same role, Galois element and
  // band of levels.
  EvaluationKeysReader(ByteSource source, const ckks::Context& context);

  ckks::Fingerprint fingerprint() const { return reader_.header().fingerprint; }
  const std::vector<Entry>& entries() const { return entries_; }  // in the order of the file
  ckks::KeySwitchKey load(const Entry& entry);
  // Throws Error if the file lacks a key of a request or has it for lower levels only.
  void require(const ckks::KeyRequest& request) const { find(request); }
  // Loads the keys of a request and no others. Throws Error unless the file has them all. `progress(bytes
  // read, bytes in all)` may be empty.
  ckks::EvaluationKeys load(const ckks::KeyRequest& request,
                            const std::function<void(uint64_t, uint64_t)>& progress = {});

 private:
  std::vector<const Entry*> find(const ckks::KeyRequest& request) const;
  const Entry& find(const ckks::KeyName& name) const;

  const ckks::Context& context_;
  ContainerReader reader_;
  std::vector<Entry> entries_;
  std::map<ckks::EvaluationKeys::Use, size_t> index_;
};

}  // namespace psm::wire
