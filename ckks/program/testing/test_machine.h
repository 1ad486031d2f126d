// A program planned for given parameters, with the keys that the plan asks for and no others, and the machine
// that runs it: what a test of an encrypted program needs. For tests alone.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::program {

struct TestMachine {
  // The planner is offered these sparse bootstraps.
  TestMachine(const ckks::ParameterSpec& spec, Program source,
              const std::vector<ckks::BootstrapKind>& sparse = {});

  std::map<std::string, ckks::Ciphertext> encrypt(const std::map<std::string, SlotVector>& inputs);
  // What the machine makes of an input, decrypted.
  std::map<std::string, SlotVector> run(const std::map<std::string, SlotVector>& inputs);
  // The largest difference from what the twin makes of it.
  double difference(const std::map<std::string, SlotVector>& inputs);

  Program program;
  CostModel model;
  Plan plan_;
  ckks::TestParty party;
  ckks::Bootstrappers bootstrappers;  // of the plan's kinds
  std::unique_ptr<EncryptedMachine> machine;
};

}  // namespace psm::program
