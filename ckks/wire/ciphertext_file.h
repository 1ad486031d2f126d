// A file of ciphertexts of one key pair, with a note in JSON about what they hold (shapes, the model's fingerprint).
// Freshly encrypted ones store the seed of c_1 instead of c_1.
#pragma once

#include <string>
#include <vector>

#include "ckks/scheme/public/seeded_ciphertext.h"
#include "ckks/wire/key_file.h"

namespace psm::wire {

constexpr uint64_t kMaxNoteBytes = 1 << 20;

struct CiphertextFile {
  std::string note;  // JSON text; at most kMaxNoteBytes
  std::vector<Ciphertext> ciphertexts;
  Fingerprint fingerprint;
};

// The record of one ciphertext.
uint64_t ciphertext_bytes(const Context& context, int level);
uint64_t seeded_ciphertext_bytes(const Context& context, int level);

void write_ciphertexts(const std::string& path, const Context& context, const CiphertextFile& file);
void write_seeded_ciphertexts(const std::string& path, const Context& context, const std::string& note,
                              const std::vector<SeededCiphertext>& ciphertexts);

// Accepts at most `max_count` ciphertexts.
CiphertextFile read_ciphertexts(ByteSource source, const Context& context, size_t max_count);

}  // namespace psm::wire
