#include "cmd/server/server.h"

#include "ckks/base/error.h"

namespace psm::cmd {

Server::Server(const PlannedPass& pass, const ckks::EvaluationKeys& keys, ckks::Device* device)
    : pass_(pass),
      chosen_(*pass.context, keys, device),
      encoder_(*pass.context, chosen_.engine().residue_maker()),
      evaluator_(chosen_.engine(), chosen_.keys()),
      bootstrapper_(pass.bootstraps.full ? std::make_unique<const ckks::Bootstrapper>(*pass.context, encoder_)
                                         : nullptr),
      machine_(pass.plan, encoder_, evaluator_, bootstrapper_.get(),
               {.encoded_bytes = pass.reading.encoded_limit}) {}

program::RunResult Server::run(const std::map<std::string, ckks::Ciphertext>& inputs,
                               const program::RunOptions& options) {
  return machine_.run(inputs, options);
}

program::RunResult Server::resume(program::RunState checkpoint, const program::RunOptions& options) {
  return machine_.resume(std::move(checkpoint), options);
}

ckks::Ciphertext Server::bootstrap(const ckks::Ciphertext& complex_value) const {
  PSM_CHECK(pass_.plan.bootstraps > 0, "no keys to bootstrap with");
  Memory* const memory = evaluator_.engine().memory();
  if (memory == nullptr) return bootstrapper_->apply(evaluator_, complex_value);
  return bootstrapper_->apply(evaluator_, complex_value.in(memory)).in(nullptr);
}

size_t Server::encoded_bytes() const {
  return machine_.encoded_bytes() + (bootstrapper_ ? bootstrapper_->bytes() : 0);
}

}  // namespace psm::cmd
