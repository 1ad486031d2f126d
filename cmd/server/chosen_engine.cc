#include "cmd/server/chosen_engine.h"

#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"
#include "ckks/device/device_engine.h"
#include "ckks/engine/host_engine.h"

namespace psm::cmd {
namespace {

std::unique_ptr<const ckks::Engine> engine_on(const ckks::Context& context, ckks::Device* device) {
  if (device == nullptr) return std::make_unique<ckks::HostEngine>(context);
  return std::make_unique<ckks::DeviceEngine>(context, *device);
}

}  // namespace

ChosenEngine::ChosenEngine(const ckks::Context& context, const ckks::EvaluationKeys& keys,
                           ckks::Device* device, const std::set<ckks::BootstrapKind>& kinds)
    : copy_(device == nullptr ? ckks::EvaluationKeys() : keys.in(device)),
      engine_(engine_on(context, device)),
      encoder(context, engine_->residue_maker()),
      evaluator(*engine_, device == nullptr ? keys : copy_),
      bootstrappers(ckks::make_bootstrappers(context, encoder, kinds)) {}

ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request) {
  Progress progress("reading keys", 1);
  return reader.load(request, [&](uint64_t done, uint64_t total) {
    progress.set(static_cast<double>(done) / static_cast<double>(total));
    stop_if_interrupted("keys were being read, and nothing was begun");
  });
}

}  // namespace psm::cmd
