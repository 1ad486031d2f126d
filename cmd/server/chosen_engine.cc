#include "cmd/server/chosen_engine.h"

#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"
#include "ckks/engine/host_engine.h"

namespace psm::cmd {

ChosenEngine::ChosenEngine(const ckks::Context& context, const ckks::EvaluationKeys& keys,
                           std::unique_ptr<const ckks::Engine> device,
                           const std::set<ckks::BootstrapKind>& kinds)
    : copy_(device == nullptr ? ckks::EvaluationKeys() : keys.in(device->memory())),
      engine_(device == nullptr ? std::make_unique<ckks::HostEngine>(context) : std::move(device)),
      encoder(context, engine_->residue_maker()),
      evaluator(*engine_, engine_->memory() == nullptr ? keys : copy_),
      bootstrappers(ckks::make_bootstrappers(context, encoder, kinds)) {}

ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request) {
  Progress progress("reading keys", 1);
  return reader.load(request, [&](uint64_t done, uint64_t total) {
    progress.set(static_cast<double>(done) / static_cast<double>(total));
    stop_if_interrupted("keys were being read, and nothing was begun");
  });
}

}  // namespace psm::cmd
