// The suite `model` of //cmd:bench: passes of a whole model on real keys and ciphertexts, timed as a whole
// and in parts, and their answers compared with the twin's.
//
// Warm passes are each followed by bootstraps of one complex value alone, so that both are timed under the same load.
// Seconds of a pass are those of all its instructions. A pass is also given in bootstraps, because that ratio
// does not depend on the machine's load and clock. On a device a pass ends with its outputs at the host. One
// more pass, which waits for each instruction, gives the parts.
//
// The seconds of the median warm pass are given by operation: bootstrap, encode, rotate, plaintext_products,
// ciphertext_products (with relinearisation and rescaling), polynomials (Chebyshev series), other. They add up to the
// pass. Those of a linear map are split into plaintext products and rotations in the proportion that the cost model
// predicts. Predictions are the plan's.
#pragma once

#include <string>
#include <vector>

#include "ckks/device/device.h"
#include "cmd/deployment/deployment.h"
#include "cmd/server/run_figures.h"
#include "cmd/timing/timer.h"

namespace psm::cmd {

struct ModelTimes {
  // For people: what is measured next to what was predicted; the parts of a pass; a device's launches by block program,
  // in a pass that waits; and how close the logits are to the twin's.
  std::string text = {};
  Figures run{};           // of RunFigures
  program::Ledger ledger;  // of the median warm pass, with ranges and errors
  Json json = {};          // all figures
};

// `name` is the model's. `prompts`: one at least, and at most as many as share ciphertexts. A null device is the
// processor. Throws Error, before any key is made, if memory does not suffice, or if the prompts leave the interval of a
// polynomial. A device
// keeps as many encoded weights as it has room for. The deployment must outlive the result.
ModelTimes model_suite(Deployment& deployment, const std::string& name,
                       const std::vector<std::vector<int>>& prompts, ckks::Device* device,
                       const SuiteOptions& options);

}  // namespace psm::cmd
