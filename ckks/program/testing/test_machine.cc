#include "ckks/program/testing/test_machine.h"

#include <cmath>
#include <utility>

#include "ckks/base/testing/worse.h"
#include "ckks/program/planning/scheme_figures.h"

namespace psm::program {

SlotVector wave(size_t slots, double frequency, bool real) {
  SlotVector x(slots);
  for (size_t s = 0; s < slots; ++s) {
    const double phase = frequency * static_cast<double>(s);
    x[s] = {0.9 * std::cos(phase), real ? 0 : 0.9 * std::sin(1.7 * phase)};
  }
  return x;
}

TestMachine::TestMachine(const ckks::ParameterSpec& spec, Program source,
                         const std::set<ckks::BootstrapKind>& kinds)
    : program(std::move(source)),
      party(spec),
      model(costs_of(party.context, ckks::plan_bootstraps(party.context, kinds))),
      plan_(plan(program, model)),
      bootstrappers(ckks::make_bootstrappers(party.context, party.encoder, bootstrap_kinds(plan_))) {
  party.add_keys(key_request(plan_, ckks::plan_bootstraps(party.context, bootstrap_kinds(plan_))));
  machine = std::make_unique<EncryptedMachine>(plan_, party.encoder, *party.evaluator, &bootstrappers);
}

std::map<std::string, ckks::Ciphertext> TestMachine::encrypt(
    const std::map<std::string, SlotVector>& inputs) {
  std::map<std::string, ckks::Ciphertext> result;
  for (size_t i = 0; i < plan_.program.inputs.size(); ++i) {
    const std::string& name = plan_.program.inputs[i].name;
    result[name] = party.encrypt(inputs.at(name), plan_.input_levels[i]);
  }
  return result;
}

std::map<std::string, SlotVector> TestMachine::run(const std::map<std::string, SlotVector>& inputs) {
  std::map<std::string, SlotVector> outputs;
  for (const auto& [name, ciphertext] : machine->run(encrypt(inputs)).outputs)
    outputs[name] = party.decrypt(ciphertext);
  return outputs;
}

double TestMachine::difference(const std::map<std::string, SlotVector>& inputs) {
  const TwinResult expected = run_twin(program, inputs);
  double largest = 0;
  for (const auto& [name, slots] : run(inputs))
    largest = worse(largest, ckks::max_error(slots, expected.outputs.at(name)));
  return largest;
}

}  // namespace psm::program
