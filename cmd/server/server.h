// The server's part: ciphertexts in, ciphertexts out. It depends on no secret key; a test of the build graph
// asserts that (//cmd:links_test).
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/errors/ledger.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "cmd/server/chosen_engine.h"
#include "cmd/server/planned_pass.h"

namespace psm::cmd {

// Whoever computes passes of the model: this process, or several ranks (ranks/ranks.h).
class Passes {
 public:
  virtual ~Passes() = default;
  // One pass of the model; inputs by the names of the program. Or the rest of one.
  virtual program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                                 const program::RunOptions& options) = 0;
  virtual program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options) = 0;
};

class Server final : public Passes {
 public:
  // Encodes the plaintexts that all runs share. Throws Error if a key is missing or of another key pair.
  // Computes on `device` unless that is null; inputs and outputs are in the host's memory.
  Server(const PlannedPass& pass, const ckks::EvaluationKeys& keys,
         std::unique_ptr<const ckks::Engine> device = nullptr)
      : own_(*pass.context, keys, std::move(device), program::bootstrap_kinds(pass.plan)),
        // What --memory leaves is the host's; a device's room is beyond the usual limit.
        machine_(pass.plan, own_.encoder, own_.evaluator, &own_.bootstrappers,
                 {.encoded_bytes = own_.evaluator.engine().memory() == nullptr
                                       ? pass.reading.encoded_limit
                                       : program::kKeptPlaintextBytes + pass.device_room}) {
    machine_.prepare();
  }

  program::RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs,
                         const program::RunOptions& options = {}) override {
    return machine_.run(inputs, options);
  }
  program::RunResult resume(program::RunState checkpoint, const program::RunOptions& options) override {
    return machine_.resume(std::move(checkpoint), options);
  }

  // One full bootstrap of a complex value at the entry level, outside of a pass. The plan must have bootstraps.
  ckks::Ciphertext bootstrap(const ckks::Ciphertext& complex_value) const {
    PSM_CHECK(own_.bootstrappers.contains({}), "no keys to bootstrap with");
    const ckks::Bootstrapper& full = own_.bootstrappers.at({});
    Memory* const memory = own_.evaluator.engine().memory();
    if (memory == nullptr) return full.apply(own_.evaluator, complex_value);
    return full.apply(own_.evaluator, complex_value.in(memory)).in(nullptr);
  }

 private:
  const ChosenEngine own_;
  program::EncryptedMachine machine_;
};

}  // namespace psm::cmd
