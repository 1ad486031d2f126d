// The encrypted machine: runs a Plan on ciphertexts, with public evaluation keys only.
//
// Every value stands at its canonical scale at the level that the plan gives it; an argument of a higher
// level is brought down once and kept until the value's last use. Values are freed at their last use.
//
// Plaintexts are encoded at their first use, or by prepare(). Encoded ones are kept for further runs and for
// other instructions with the same vector at the same level, up to Options::encoded_bytes; beyond that they
// are encoded anew each time.
//
// Refusals (psm::Error), before anything is computed: a plan for another ring or other levels, a missing key,
// a missing input or one below its level. An error inside an instruction names it and its label.
//
// Checkpoints. A run can hand out its live ciphertexts after chosen instructions and be resumed from them.
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
  // Inputs by name that all runs share, such as encrypted weights: read where they are, neither copied nor
  // part of a checkpoint. In the host's memory; they outlive the machine.
  const std::map<std::string, ckks::Ciphertext>* shared_inputs = nullptr;
};

// State between two instructions.
struct RunState {
  size_t next_instruction = 0;
  std::vector<std::pair<Value, ckks::Ciphertext>> live;
};

struct RunOptions {
  // Take the place of the plan's (program.h); their plaintexts are encoded for this run alone.
  Constants constants{};
  // Whether seconds of an instruction are until its results are there; on a device they are until all of it
  // is asked for otherwise.
  bool waits = false;
  // After every instruction.
  std::function<void(size_t done, size_t total)> progress{};
  // Every result at the level of the plan; for oracles and tests.
  std::function<void(size_t instruction, Value, const ckks::Ciphertext&)> observe{};
  // After the instructions listed (ascending), with what must be kept.
  std::vector<size_t> checkpoint_after{};
  std::function<void(size_t next_instruction, const std::vector<std::pair<Value, const ckks::Ciphertext*>>&)>
      checkpoint{};
};

struct RunResult {
  std::map<std::string, ckks::Ciphertext> outputs;
  std::vector<double> seconds;         // by instruction; 0 for those before a resumption
  std::vector<double> encode_seconds;  // of these, spent encoding plaintexts
  size_t peak_bytes = 0;               // of live ciphertexts
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

  // Encodes the plaintexts that are kept, before any input is there.
  void prepare();
  // Inputs by name, at the plan's input level or above, at a canonical scale.
  RunResult run(const std::map<std::string, ckks::Ciphertext>& inputs, const RunOptions& = {});
  RunResult resume(RunState, const RunOptions& = {});

  const Plan& plan() const { return plan_; }
  size_t encoded_bytes() const;  // kept

 private:
  class Run;
  struct Cache;
  void require_levels() const;
  void require_keys() const;
  const Plan& plan_;
  const ckks::Encoder& encoder_;
  const ckks::Evaluator& evaluator_;
  const ckks::Bootstrappers* bootstrappers_;
  MachineOptions options_;
  std::unique_ptr<Cache> cache_;
};

}  // namespace psm::program
