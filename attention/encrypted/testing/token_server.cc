#include "attention/encrypted/testing/token_server.h"

#include <utility>

#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/program/planner/planner.h"
#include "ckks/program/planning/scheme_figures.h"

namespace psm::attention {

TokenServer::TokenServer(const ckks::ParameterSpec& spec, const std::vector<program::Program>& programs,
                         const std::map<std::string, ckks::Level>& carried,
                         const std::vector<ckks::BootstrapKind>& sparse)
    : context(spec), full(context) {
  const program::KernelSeconds kernels;
  std::vector<std::unique_ptr<ckks::SparseBootstrapPlan>> few;
  std::vector<const ckks::SparseBootstrapPlan*> pointers;
  std::vector<program::SparseFigures> figures;
  for (const ckks::BootstrapKind& kind : sparse) {
    few.push_back(std::make_unique<ckks::SparseBootstrapPlan>(context, kind));
    pointers.push_back(few.back().get());
    figures.push_back(program::figures_of(*few.back(), kernels));
  }
  const program::CostModel costs(context.chain(), kernels, program::figures_of(full, kernels),
                                 std::move(figures));
  program::LevelBudget budget = program::budget_of(context);
  budget.carried = carried;
  ckks::KeyRequest keys;
  for (const program::Program& program : programs) {
    plans.push_back(program::plan(program, budget, costs));
    keys.merge(program::key_request(plans.back(), &full, pointers));
  }
  party = std::make_unique<ckks::TestParty>(spec, keys);
  bootstrapper_ = std::make_unique<ckks::Bootstrapper>(party->context, party->encoder);
  for (const ckks::BootstrapKind& kind : sparse)
    sparse_bootstrappers_.push_back(
        std::make_unique<ckks::SparseBootstrapper>(party->context, party->encoder, kind));
}

void TokenServer::run(size_t number, const SlotVectors& inputs,
                      std::map<std::string, ckks::Ciphertext>& state) const {
  const program::Plan& plan = plans[number];
  for (size_t i = 0; i < plan.program.inputs.size(); ++i) {
    const auto found = inputs.find(plan.program.inputs[i].name);
    if (found != inputs.end()) state[found->first] = party->encrypt(found->second, plan.input_levels[i]);
  }
  program::MachineOptions options;
  for (const auto& sparse : sparse_bootstrappers_) options.sparse_bootstrappers.push_back(sparse.get());
  program::EncryptedMachine machine(plan, party->encoder, *party->evaluator, bootstrapper_.get(),
                                    std::move(options));
  auto outputs = machine.run(state).outputs;
  for (const auto& [name, slots] : inputs) state.erase(name);
  for (auto& [name, ciphertext] : outputs) state[name] = std::move(ciphertext);
}

}  // namespace psm::attention
