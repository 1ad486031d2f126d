// The encrypted machine: runs a Plan on ciphertexts, with public evaluation keys only.
//
// Every value has the level that the plan gives it, and the canonical scale. An argument of a higher level is
// brought down once, and the copy is kept until the value's last use. Values are freed at their last use.
//
// Plaintexts are encoded at their first use, or by prepare(). They are kept for further runs and for other instructions
// with the same vector at the same level, up to MachineOptions::encoded_bytes. The others are encoded anew each time.
//
// Before anything is computed, psm::Error refuses a plan for another ring or other levels, a missing key, and
// a missing input or one below its level. An error inside an instruction names it and its label.
//
// A run can hand out its live ciphertexts after chosen instructions (a checkpoint) and be resumed from them.
//
// Not thread-safe: one run at a time; each operation is parallel inside.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/plan.h"
#include "ckks/scheme/encoding/encoder.h"
#include "ckks/scheme/server/evaluator.h"

namespace psm::program {

struct MachineOptions {
  size_t encoded_bytes = kKeptPlaintextBytes;
  // Inputs by name that all runs share, such as encrypted weights. They are read in place, not copied, and
  // are not part of a checkpoint. They are in the host's memory and must outlive the machine.
  const std::map<std::string, ckks::Ciphertext>* shared_inputs = nullptr;
};

// State between two instructions.
struct RunState {
  size_t next_instruction = 0;
  std::vector<std::pair<Value, ckks::Ciphertext>> live;
};

struct RunOptions {
  // Replace the plan's constants (program.h). Their plaintexts are encoded for this run only.
  Constants constants{};
  // True: the seconds of an instruction end when its results are there. False: on a device they end when all
  // its operations have been requested.
  bool waits = false;
  // After every instruction.
  std::function<void(size_t done, size_t total)> progress{};
  // Called with every result at the level of the plan; for oracles and tests.
  std::function<void(size_t instruction, Value, const ckks::Ciphertext&)> observe{};
  // Brings an input that is missing, when its kInput is reached: from another machine that runs a part of the program.
  // It has the level of the plan and is in the host's memory. Without it all inputs must be there at the start.
  std::function<ckks::Ciphertext(Value)> receive{};
  // Checkpoints after these instructions, in ascending order.
  std::vector<size_t> checkpoint_after{};
  std::function<void(size_t next_instruction, const std::vector<std::pair<Value, const ckks::Ciphertext*>>&)>
      checkpoint{};
};

struct RunResult {
  std::map<std::string, ckks::Ciphertext> outputs;
  std::vector<double> seconds;         // by instruction; 0 for those before a resumption
  std::vector<double> encode_seconds;  // of these, spent encoding plaintexts
};

class EncryptedMachine {
 public:
  // All arguments outlive the machine. `bootstrappers` has one for each kind of the plan's bootstraps
  // (bootstrap_kinds), and may be null if there are none.
  EncryptedMachine(const Plan&, const ckks::Encoder&, const ckks::Evaluator&,
                   const ckks::Bootstrappers* bootstrappers, MachineOptions = {});
  ~EncryptedMachine();
  EncryptedMachine(const EncryptedMachine&) = delete;
  EncryptedMachine& operator=(const EncryptedMachine&) = delete;

  // Encodes the plaintexts that are kept, before a run.
  void prepare();
  // Inputs by name, at the plan's input level or above, at a canonical scale.
  RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs, const RunOptions& = {});
  RunResult resume(RunState, const RunOptions& = {});

  size_t encoded_bytes() const;  // kept

 private:
  class Run;
  struct Cache;
  void require_offers() const;
  const Plan& plan_;
  const ckks::Encoder& encoder_;
  const ckks::Evaluator& evaluator_;
  const ckks::Bootstrappers* bootstrappers_;
  MachineOptions options_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace psm::program
