// Reads a file of ciphertexts (ciphertext_file.h).
#pragma once

#include <string>
#include <vector>

#include "ckks/wire/ciphertext_file.h"

namespace psm::wire {

// Ciphertexts in any order. Opening reads the note and the head of each ciphertext and no polynomial, and
// checks every length; load() reads one ciphertext and verifies its checksum.
class CiphertextReader {
 public:
  struct Head {
    ckks::Level level = 0;
    ckks::Scale scale;
    bool seeded = false;
    uint64_t position = 0;  // of its record
  };

  // Throws Error for a ciphertext that does not fit the context, and for more than `max_count` of them.
  CiphertextReader(ByteSource source, const ckks::Context& context, size_t max_count);

  ckks::Fingerprint fingerprint() const { return reader_.header().fingerprint; }
  const std::string& note() const { return note_; }
  const std::vector<Head>& heads() const { return heads_; }  // in the order of the file
  ckks::Ciphertext load(size_t index);

  // A checksum of the note and all records as stored, with levels, scales and residues. It tells this file
  // from another.
  uint64_t checksum() const { return checksum_; }

 private:
  // Begins the next record. Returns false after the last.
  bool next(Head& head, RecordHeader& record);

  const ckks::Context& context_;
  ContainerReader reader_;
  std::string note_;
  std::vector<Head> heads_;
  uint64_t checksum_ = 0;
};

}  // namespace psm::wire
