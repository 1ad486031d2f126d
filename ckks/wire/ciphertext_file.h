// A file of ciphertexts of one key pair, with a note about what they hold (cmd/protocol/notes.h). Ciphertexts encrypted
// under the secret key store the seed of c_1 instead of c_1. ciphertext_reader.h reads it.
//
// Ciphertexts are written and read one at a time, so the file may be larger than memory.
#pragma once

#include <string>

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/wire/container.h"

namespace psm::wire {

constexpr uint64_t kMaxNoteBytes = 1 << 20;

enum CiphertextTag : uint32_t { kNoteTag = 1, kCiphertextTag = 2, kSeededCiphertextTag = 3 };

// What a ciphertext's record holds: level and scale, then c_0, and c_1 or its seed.
constexpr uint64_t kCiphertextPrefix = 4 + 8;
uint64_t ciphertext_payload(const ckks::Context& context, ckks::Level level, bool seeded);

class CiphertextWriter {
 public:
  // `note`: at most kMaxNoteBytes.
  CiphertextWriter(const Destination& destination, const ckks::Context& context,
                   ckks::Fingerprint fingerprint, const std::string& note);
  void write(const ckks::Ciphertext& ciphertext);
  void write(const ckks::SeededCiphertext& ciphertext);
  void commit() { writer_.commit(); }

 private:
  void begin(uint32_t tag, uint64_t length, ckks::Level level, ckks::Scale scale);

  const ckks::Context& context_;
  ContainerWriter writer_;
};

}  // namespace psm::wire
