// A file of ciphertexts of one key pair, with a note in JSON about what they hold (shapes, the model's
// fingerprint). Ciphertexts encrypted under the secret key store the seed of c_1 instead of c_1.
//
// Ciphertexts are written and read one at a time, so the file may be larger than memory.
#pragma once

#include <string>
#include <vector>

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/wire/container.h"

namespace psm::wire {

constexpr uint64_t kMaxNoteBytes = 1 << 20;

enum CiphertextTag : uint32_t { kNoteTag = 1, kCiphertextTag = 2, kSeededCiphertextTag = 3 };

// What a ciphertext's record holds: level and scale, then c_0, and c_1 or its seed.
constexpr uint64_t kCiphertextPrefix = 4 + 8;
uint64_t ciphertext_payload(const ckks::Context& context, ckks::Level level, bool seeded);
// With the record's head and checksum.
uint64_t ciphertext_bytes(const ckks::Context& context, ckks::Level level);

class CiphertextWriter {
 public:
  // `note`: JSON text of at most kMaxNoteBytes.
  CiphertextWriter(const std::string& path, const ckks::Context& context, ckks::Fingerprint fingerprint,
                   const std::string& note);
  CiphertextWriter(std::string* memory, const ckks::Context& context, ckks::Fingerprint fingerprint,
                   const std::string& note);
  void write(const ckks::Ciphertext& ciphertext);
  void write(const ckks::SeededCiphertext& ciphertext);
  void commit() { writer_.commit(); }

 private:
  void write_note(const std::string& note);
  void begin(uint32_t tag, uint64_t length, ckks::Level level, ckks::Scale scale);

  const ckks::Context& context_;
  ContainerWriter writer_;
};

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
