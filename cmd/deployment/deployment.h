// A model that is ready to run encrypted in one process, for the demonstration and for timing. It is compiled
// to a file (cmd/compiler/compile.h) and read from it. The file is removed once it is mapped.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention/files/checkpoint.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/compiler/compile.h"
#include "cmd/server/planned_pass.h"
#include "cmd/server/run_figures.h"
#include "cmd/server/server.h"

namespace psm::cmd {

struct Deployment : PackedModel, PlannedPass {
  // Compiles for the ring of `context`, which may be used elsewhere; the deployment makes a context of its own.
  Deployment(const attention::Checkpoint& checkpoint, const ckks::Context& context);
};

// Runs the same slot program in the clear. All but the logits are of the first group of prompts that share ciphertexts.
// Throws Error if the model leaves the interval of a polynomial, and names operation and layer.
TwinPrediction run_twin_on(const Deployment& deployment, const std::vector<std::vector<int>>& prompts);

// A client and a server in one process, for the demonstration, for timing and for tests: keys, encryption,
// passes on ciphertexts, decryption. The server's part sees only evaluation keys and ciphertexts.
class Session {
 public:
  struct Seconds {
    double keygen = 0, server = 0;  // server: encoding what all passes share
    double encrypt = 0, infer = 0, decrypt = 0;
  };
  using Ciphertexts = std::map<std::string, ckks::Ciphertext>;  // inputs or outputs, by name

  // Makes the keys that the pass asks for, with a progress bar. Meanwhile the memory that a pass takes is touched;
  // `figures` learns of that and of every pass. Arguments outlive the session.
  Session(const PlannedPass& pass, RunFigures& figures, std::unique_ptr<const ckks::Engine> device = nullptr);

  Ciphertexts encrypt(const attention::SlotVectors& inputs);
  program::RunResult run(const Ciphertexts& inputs, program::RunOptions options = {});
  attention::SlotVectors decrypt(const Ciphertexts& outputs);
  program::SlotVector decrypt(const ckks::Ciphertext& value) const { return decryptor_.decrypt(value); }

  // Seconds of one full bootstrap of a complex value, outside of a pass. The plan must have bootstraps.
  double bootstrap_seconds();

  const ckks::EvaluationKeys& keys() const { return keys_; }
  const Seconds& seconds() const { return seconds_; }

 private:
  const PlannedPass& d_;
  RunFigures& figures_;
  Seconds seconds_;
  ckks::Encoder encoder_;
  ckks::SecretKey secret_;
  ckks::KeyGenerator generator_;
  ckks::PublicKey public_key_;
  ckks::Encryptor encryptor_;
  ckks::Decryptor decryptor_;
  ckks::EvaluationKeys keys_;
  std::unique_ptr<Server> server_;
};

}  // namespace psm::cmd
