#include "ckks/program/testing/test_machine.h"

#include <algorithm>
#include <utility>

#include "ckks/program/planning/scheme_figures.h"

namespace psm::program {
namespace {

Plan plan_for(const ParameterSpec& spec, const Program& program) {
  const Context context(spec);
  return plan(program, budget_of(context), CostModel(context.chain()));
}

KeyRequest keys_for(const ParameterSpec& spec, const Plan& plan) {
  const Context context(spec);
  if (plan.bootstraps == 0) return key_request(plan, nullptr);
  const BootstrapPlan bootstrap(context);
  return key_request(plan, &bootstrap);
}

}  // namespace

TestMachine::TestMachine(const ParameterSpec& spec, Program source)
    : program(std::move(source)), plan_(plan_for(spec, program)), party(spec, keys_for(spec, plan_)) {
  if (plan_.bootstraps > 0) bootstrapper = std::make_unique<Bootstrapper>(party.context, party.encoder);
  machine = std::make_unique<EncryptedMachine>(plan_, party.encoder, *party.evaluator, bootstrapper.get());
}

std::map<std::string, Ciphertext> TestMachine::encrypt(const std::map<std::string, SlotVector>& inputs) {
  std::map<std::string, Ciphertext> result;
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
    largest = std::max(largest, max_error(slots, expected.outputs.at(name)));
  return largest;
}

}  // namespace psm::program
