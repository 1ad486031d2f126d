// For tests of encrypted programs: a program planned for given parameters, exactly the keys of its plan, and
// the machine that runs it.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/machines/twin.h"
#include "ckks/program/planner/planner.h"
#include "ckks/scheme/testing/test_party.h"

namespace psm::program {

// Slots of which no two are alike, at most 0.9 in re and in im.
SlotVector wave(size_t slots, double frequency, bool real = false);

struct TestMachine {
  // `kinds` are the bootstraps that the planner may use, if the parameters have any.
  TestMachine(const ckks::ParameterSpec& spec, Program source,
              const std::set<ckks::BootstrapKind>& kinds = {{}});

  std::map<std::string, ckks::Ciphertext> encrypt(const std::map<std::string, SlotVector>& inputs);
  // Runs the machine and decrypts its outputs.
  std::map<std::string, SlotVector> run(const std::map<std::string, SlotVector>& inputs);
  // The largest difference from the twin's outputs.
  double difference(const std::map<std::string, SlotVector>& inputs);

  Program program;
  ckks::TestParty party;
  CostModel model;
  Plan plan_;
  ckks::Bootstrappers bootstrappers;  // of the plan's kinds
  std::unique_ptr<EncryptedMachine> machine;
};

}  // namespace psm::program
