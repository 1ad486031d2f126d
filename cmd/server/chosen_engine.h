// Who computes for a server: the processor, or a device that has a copy of the keys; and the keys out of their file.
#pragma once

#include <memory>
#include <set>
#include <utility>

#include "ckks/base/interruption.h"
#include "ckks/base/progress.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/engine/host_engine.h"
#include "ckks/wire/key_file.h"

namespace psm::cmd {

class ChosenEngine {
  // First, since all that follows refers to them.
  ckks::EvaluationKeys copy_;
  std::unique_ptr<const ckks::Engine> engine_;

 public:
  // Null is the processor. Keys go to the device once; throws Error where they find no room. `kinds`: of bootstraps, whose
  // transforms are encoded.
  ChosenEngine(const ckks::Context& context, const ckks::EvaluationKeys& keys,
               std::unique_ptr<const ckks::Engine> device, const std::set<ckks::BootstrapKind>& kinds)
      : copy_(device == nullptr ? ckks::EvaluationKeys() : keys.in(device->memory())),
        engine_(device == nullptr ? std::make_unique<ckks::HostEngine>(context) : std::move(device)),
        encoder(context, engine_->residue_maker()),
        evaluator(*engine_, engine_->memory() == nullptr ? keys : copy_),
        bootstrappers(ckks::make_bootstrappers(context, encoder, kinds)) {}

  const ckks::Encoder encoder;
  const ckks::Evaluator evaluator;
  const ckks::Bootstrappers bootstrappers;
};

// Shows a progress bar. Throws Error if a key is missing.
inline ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request) {
  Progress progress("reading keys", 1);
  return reader.load(request, [&](uint64_t done, uint64_t total) {
    progress.set(static_cast<double>(done) / static_cast<double>(total));
    stop_if_interrupted("keys were being read, and nothing was begun");
  });
}

}  // namespace psm::cmd
