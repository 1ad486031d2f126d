// Encrypted weights in the memory of a server that computes on them.
#pragma once

#include <memory>
#include <string>

#include "ckks/wire/ciphertext_file.h"
#include "cmd/generation/server/kept_text.h"
#include "cmd/generation/server/text_program.h"
#include "cmd/generation/weight_note.h"

namespace psm::cmd {

class EncryptedWeights {
 public:
  // Throws Error unless the file holds just what the program wants; `path` stands in messages. From then on the
  // program's conversations carry the weights' number.
  EncryptedWeights(const std::string& path, TextProgram& program);
  // With a progress bar. Throws Error if they are under another key pair than the prompts.
  Ciphertexts read(ckks::Fingerprint keys);

 private:
  std::string path_;
  wire::CiphertextReader file_;
  WeightNote note_;
};

}  // namespace psm::cmd
