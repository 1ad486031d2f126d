// Files of keys and of ciphertexts that fit into memory.
#pragma once

#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ckks/wire/ciphertext_reader.h"
#include "ckks/wire/key_file.h"

namespace psm::wire {

inline void write_evaluation_keys(const std::string& path, const ckks::Context& context,
                                  const ckks::EvaluationKeys& keys) {
  EvaluationKeysWriter writer(path, context, keys.fingerprint);
  for (const auto& [use, key] : keys.keys)
    writer.write(std::get<KeyRole>(use), std::get<ckks::GaloisElement>(use), key);
  writer.commit();
}

struct CiphertextFile {
  std::string note;
  std::vector<ckks::Ciphertext> ciphertexts;
  ckks::Fingerprint fingerprint;
};

inline void write_ciphertexts(const std::string& path, const ckks::Context& context,
                              const CiphertextFile& file) {
  CiphertextWriter writer(path, context, file.fingerprint, file.note);
  for (const ckks::Ciphertext& c : file.ciphertexts) writer.write(c);
  writer.commit();
}

inline CiphertextFile read_ciphertexts(ByteSource source, const ckks::Context& context, size_t max_count) {
  CiphertextReader reader(std::move(source), context, max_count);
  CiphertextFile file{reader.note(), {}, reader.fingerprint()};
  for (size_t i = 0; i < reader.heads().size(); ++i) file.ciphertexts.push_back(reader.load(i));
  return file;
}

}  // namespace psm::wire
