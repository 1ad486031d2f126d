// Runs the twin of a deployment on prompts: the same slot program in the clear, with the expected distance of
// the encrypted run.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ckks/program/machines/twin.h"
#include "cmd/deployment/deployment.h"
#include "cmd/prompts/comparison.h"

namespace psm::cmd {

struct TwinRun {
  std::vector<std::vector<int>> prompts;
  LogitRows logits;
  // The predicted standard deviation of a logit's error in the encrypted run. The twin runs once more with
  // the predicted error of every instruction, and this is the root mean square of the difference.
  double predicted_std = 0;

  // From the first group of prompts that share ciphertexts, by value id of the plan: for the ledger.
  std::vector<program::Observation> observations;
  std::vector<double> own_error, accumulated_error;
  std::map<std::string, program::SlotVector> outputs;

  LogitRows scored(const PromptCodec& codec) const { return scored_rows(codec, prompts, logits); }
};

// Throws Error if the model leaves the interval of a polynomial, and names operation and layer.
TwinRun run_twin_on(const Deployment& deployment, const std::vector<std::vector<int>>& prompts);

}  // namespace psm::cmd
