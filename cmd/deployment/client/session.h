// A client and a server in one process, for the demonstration, for timing and for tests: keys, encryption,
// passes on ciphertexts, decryption. The server's part sees only evaluation keys and ciphertexts.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ckks/program/machines/twin.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/deployment/deployment.h"
#include "cmd/prompts/logits.h"
#include "cmd/server/run_figures.h"
#include "cmd/server/server.h"

namespace psm::cmd {

class Session {
 public:
  struct Seconds {
    double keygen = 0, server = 0;  // server: encoding what all passes share
    double encrypt = 0, infer = 0, decrypt = 0;
  };
  using Ciphertexts = std::map<std::string, ckks::Ciphertext>;  // inputs or outputs, by name
  using Observe = std::function<void(program::Value, const program::SlotVector&)>;

  // Makes the keys of the deployment's plan, with a progress bar. Meanwhile the memory of a pass is touched.
  // `figures` is told of that and of every pass. Arguments must outlive the session.
  Session(const Deployment& deployment, RunFigures& figures, ckks::Device* device = nullptr);

  Ciphertexts encrypt(const attention::SlotVectors& inputs);
  program::RunResult run(const Ciphertexts& inputs, program::RunOptions options = {});
  attention::SlotVectors decrypt(const Ciphertexts& outputs) const;

  // Encrypts, runs and decrypts: logits of every token of every prompt, in as many passes as needed.
  // `observe`, unless empty, gets every value of the first pass, decrypted.
  LogitRows logits(const std::vector<std::vector<int>>& prompts, const Observe& observe = {});

  // A ciphertext of one complex value in all slots at the entry level.
  ckks::Ciphertext value_to_bootstrap();

  Server& server() { return *server_; }
  const ckks::EvaluationKeys& keys() const { return keys_; }
  const Seconds& seconds() const { return seconds_; }
  int passes() const { return passes_; }
  const attention::SlotVectors& first_outputs() const { return first_outputs_; }  // of logits(), decrypted

 private:
  const Deployment& d_;
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
  int passes_ = 0;
  attention::SlotVectors first_outputs_;
};

}  // namespace psm::cmd
