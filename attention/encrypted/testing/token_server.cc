#include "attention/encrypted/testing/token_server.h"

#include <utility>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/planning/scheme_figures.h"

namespace psm::attention {

TokenServer::TokenServer(const ckks::ParameterSpec& spec, const std::vector<program::Program>& programs,
                         const std::map<std::string, ckks::Level>& carried, int sparse)
    : context(spec), full(context), few(context, sparse) {
  const program::KernelSeconds kernels;
  const program::CostModel costs(context.chain(), kernels, program::figures_of(full, kernels),
                                 {program::figures_of(few, kernels)});
  program::LevelBudget budget = program::budget_of(context);
  budget.carried = carried;
  ckks::KeyRequest keys;
  for (const program::Program& program : programs) {
    plans.push_back(program::plan(program, budget, costs));
    keys.merge(program::key_request(plans.back(), &full, std::vector{&few}));
  }
  party = std::make_unique<ckks::TestParty>(spec, keys);
  bootstrapper_ = std::make_unique<ckks::Bootstrapper>(party->context, party->encoder);
  sparse_bootstrapper_ = std::make_unique<ckks::SparseBootstrapper>(party->context, party->encoder, sparse);
}

void TokenServer::run(size_t number, const SlotVectors& inputs,
                      std::map<std::string, ckks::Ciphertext>& state) const {
  const program::Plan& plan = plans[number];
  for (size_t i = 0; i < plan.program.inputs.size(); ++i) {
    const auto found = inputs.find(plan.program.inputs[i].name);
    if (found != inputs.end()) state[found->first] = party->encrypt(found->second, plan.input_levels[i]);
  }
  program::EncryptedMachine machine(plan, party->encoder, *party->evaluator, bootstrapper_.get(),
                                    {.sparse_bootstrappers = {sparse_bootstrapper_.get()}});
  auto outputs = machine.run(state).outputs;
  for (const auto& [name, slots] : inputs) state.erase(name);
  for (auto& [name, ciphertext] : outputs) state[name] = std::move(ciphertext);
}

}  // namespace psm::attention
