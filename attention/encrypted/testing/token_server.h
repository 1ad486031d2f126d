// Programs that hand keys and values on, on ciphertexts of one small ring: their plans, one set of keys for all of
// them, and a machine for each run.
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
  // `carried`: levels of what is handed on. These sparse bootstraps are offered.
  TokenServer(const ckks::ParameterSpec&, const std::vector<program::Program>&,
              const std::map<std::string, ckks::Level>& carried,
              const std::vector<ckks::BootstrapKind>& sparse);

  // `inputs` are encrypted; all others come from `state`, which takes what the run gives.
  void run(size_t program, const SlotVectors& inputs, std::map<std::string, ckks::Ciphertext>& state) const;

  const ckks::Context context;
  std::vector<program::Plan> plans;
  std::unique_ptr<ckks::TestParty> party;

 private:
  ckks::Bootstrappers bootstrappers_;
};

}  // namespace psm::attention
