#include "cmd/server/server.h"

#include "ckks/base/error.h"

namespace psm::cmd {

Server::Server(const PlannedPass& pass, const ckks::EvaluationKeys& keys,
               std::unique_ptr<const ckks::Engine> device)
    : own_(*pass.context, keys, std::move(device), program::bootstrap_kinds(pass.plan)),
      machine_(pass.plan, own_.encoder, own_.evaluator, &own_.bootstrappers,
               {.encoded_bytes = pass.reading.encoded_limit + pass.device_room}) {
  machine_.prepare();
}

ckks::Ciphertext Server::bootstrap(const ckks::Ciphertext& complex_value) const {
  PSM_CHECK(own_.bootstrappers.contains({}), "no keys to bootstrap with");
  const ckks::Bootstrapper& full = own_.bootstrappers.at({});
  Memory* const memory = own_.evaluator.engine().memory();
  if (memory == nullptr) return full.apply(own_.evaluator, complex_value);
  return full.apply(own_.evaluator, complex_value.in(memory)).in(nullptr);
}

}  // namespace psm::cmd
