#include "cmd/server/server.h"

#include "ckks/base/error.h"

namespace psm::cmd {

Server::Server(const PlannedPass& pass, const ckks::EvaluationKeys& keys, ckks::Device* device)
    : pass_(pass),
      chosen_(*pass.context, keys, device),
      encoder_(*pass.context, chosen_.engine().residue_maker()),
      evaluator_(chosen_.engine(), chosen_.keys()),
      bootstrappers_(ckks::make_bootstrappers(*pass.context, encoder_, program::bootstrap_kinds(pass.plan))),
      machine_(pass.plan, encoder_, evaluator_, &bootstrappers_,
               {.encoded_bytes = pass.reading.encoded_limit}) {
  machine_.prepare();
}

program::RunResult Server::run(const std::map<std::string, ckks::Ciphertext>& inputs,
                               const program::RunOptions& options) {
  return machine_.run(inputs, options);
}

program::RunResult Server::resume(program::RunState checkpoint, const program::RunOptions& options) {
  return machine_.resume(std::move(checkpoint), options);
}

ckks::Ciphertext Server::bootstrap(const ckks::Ciphertext& complex_value) const {
  PSM_CHECK(bootstrappers_.contains({}), "no keys to bootstrap with");
  const ckks::Bootstrapper& full = bootstrappers_.at({});
  Memory* const memory = evaluator_.engine().memory();
  if (memory == nullptr) return full.apply(evaluator_, complex_value);
  return full.apply(evaluator_, complex_value.in(memory)).in(nullptr);
}

size_t Server::encoded_bytes() const {
  size_t sum = machine_.encoded_bytes();
  for (const auto& [kind, bootstrapper] : bootstrappers_) sum += bootstrapper.bytes();
  return sum;
}

}  // namespace psm::cmd
