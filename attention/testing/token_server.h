// Runs programs that pass on cached keys and values, in one small ring: their plans, one set of evaluation
// keys for all, and a machine for each run.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attention/encrypted/encrypted_model.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/planner/planner.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::attention {

class TokenServer {
 public:
  // `carried`: levels of the caches. The sparse bootstraps are those on offer.
  TokenServer(const ckks::ParameterSpec&, const std::vector<program::Program>&,
              const std::map<std::string, ckks::Level>& carried,
              const std::vector<ckks::BootstrapKind>& sparse);

  // Encrypts `inputs`; all other inputs come from `state`, which takes the run's outputs.
  void run(size_t program, const SlotVectors& inputs, std::map<std::string, ckks::Ciphertext>& state) const;

  const ckks::Context context;
  std::vector<program::Plan> plans;
  std::unique_ptr<ckks::TestParty> party;

 private:
  ckks::Bootstrappers bootstrappers_;
};

}  // namespace psm::attention
