// A server's encrypted weights in memory.
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
  // Throws Error unless the file has exactly the program's weights. Messages name `path`. From then on the
  // program's conversations carry the weights' number.
  EncryptedWeights(const std::string& path, TextProgram& program);
  // Reads the weights, with a progress bar. Throws Error if they are under another key pair than the prompts.
  Ciphertexts read(ckks::Fingerprint keys);

 private:
  std::string path_;
  wire::CiphertextReader file_;
  WeightNote note_;
};

}  // namespace psm::cmd
