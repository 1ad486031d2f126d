// The server's part: ciphertexts in, ciphertexts out. It depends on no secret key, and a test of the build
// asserts that (//cmd:links_test).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "ckks/program/errors/ledger.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "cmd/server/chosen_engine.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {

class Server {
 public:
  // Encodes what all runs share, before any prompt is there. Throws Error if a key is missing or belongs
  // elsewhere. On a device, unless that is null: ciphertexts come and go in the host's memory.
  Server(const PlannedPass& pass, const ckks::EvaluationKeys& keys, ckks::Device* device = nullptr);

  // One pass of the model. Inputs by the names of the program.
  program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                         const program::RunOptions& options = {});
  program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options);

  // One full bootstrap of a complex value at the entry level, apart from any pass. The plan must have some.
  ckks::Ciphertext bootstrap(const ckks::Ciphertext& complex_value) const;

  size_t encoded_bytes() const;

 private:
  const PlannedPass& pass_;
  ChosenEngine chosen_;
  ckks::Encoder encoder_;
  ckks::Evaluator evaluator_;
  ckks::Bootstrappers bootstrappers_;
  program::EncryptedMachine machine_;
};

}  // namespace psm::cmd
