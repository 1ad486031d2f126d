// The suite `model` of //cmd:bench: passes of a whole model on real keys and ciphertexts, timed as a whole
// and in parts, and their answer set against the twin's.
//
// In order: the twin on the prompts, in the clear; keys, exactly those of the plan; encryption; a first pass,
// which also encodes the plaintexts that are kept; warm passes, each followed by bootstraps of one complex
// value alone, so that both are timed under the same load; decryption of the last one. Both parties are in one
// process.
//
// Seconds of a pass are those of all its instructions. The unit that a pass is measured in is the bootstrap: their
// ratio says what the machine's load and clock do not. On a device a pass ends with its outputs at the host, and
// one more, which waits for each instruction, gives all parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckks/device/device.h"
#include "cmd/deployment/deployment.h"
#include "cmd/prompts/comparison.h"
#include "cmd/server/run_figures.h"
#include "cmd/timing/pass_breakdown.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct ModelSuiteOptions {
  int repetitions = 3;             // warm passes
  int bootstrap_repetitions = 3;   // bootstraps after each of them
  ckks::Device* device = nullptr;  // the processor
  Starting starting;
};

struct ModelTimes {
  explicit ModelTimes(const Deployment& deployment);

  double warm_pass() const;                      // median
  std::optional<double> bootstrap_full() const;  // median; none where the plan has no bootstraps

  RunFigures figures;      // memory, and what the plan predicts
  program::Ledger ledger;  // of the median warm pass, with ranges and errors
  Comparison versus_twin;
  double keygen = 0, first = 0, first_encoding = 0;
  std::vector<double> warm, bootstraps;
  std::vector<PassPart> computations, operations;  // of the median warm pass
};

// `prompts`: at most those that share ciphertexts. Throws Error if memory does not suffice, before any key is
// made, or if the prompts leave the interval of a polynomial. The deployment outlives the result.
ModelTimes model_suite(const Deployment& deployment, const std::vector<std::vector<int>>& prompts,
                       const ModelSuiteOptions& options);

}  // namespace psm::cmd
