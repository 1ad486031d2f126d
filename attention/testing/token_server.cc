#include "attention/testing/token_server.h"

#include <utility>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/planning/scheme_figures.h"

namespace psm::attention {

TokenServer::TokenServer(const ckks::ParameterSpec& spec, const std::vector<program::Program>& programs,
                         const std::map<std::string, ckks::Level>& carried,
                         const std::vector<ckks::BootstrapKind>& sparse)
    : context(spec) {
  std::set<ckks::BootstrapKind> kinds{{}};
  kinds.insert(sparse.begin(), sparse.end());
  const ckks::BootstrapPlans bootstraps = ckks::plan_bootstraps(context, kinds);
  const program::CostModel costs = program::costs_of(context, bootstraps);
  program::LevelBudget budget = program::budget_of(context);
  budget.carried = carried;
  ckks::KeyRequest keys;
  for (const program::Program& program : programs) {
    plans.push_back(program::plan(program, budget, costs));
    keys.merge(program::key_request(plans.back(), bootstraps));
  }
  party = std::make_unique<ckks::TestParty>(spec, keys);
  bootstrappers_ = ckks::make_bootstrappers(party->context, party->encoder, kinds);
}

void TokenServer::run(size_t number, const SlotVectors& inputs,
                      std::map<std::string, ckks::Ciphertext>& state) const {
  const program::Plan& plan = plans[number];
  for (size_t i = 0; i < plan.program.inputs.size(); ++i) {
    const auto found = inputs.find(plan.program.inputs[i].name);
    if (found != inputs.end()) state[found->first] = party->encrypt(found->second, plan.input_levels[i]);
  }
  program::EncryptedMachine machine(plan, party->encoder, *party->evaluator, &bootstrappers_);
  auto outputs = machine.run(state).outputs;
  for (const auto& [name, slots] : inputs) state.erase(name);
  for (auto& [name, ciphertext] : outputs) state[name] = std::move(ciphertext);
}

}  // namespace psm::attention
