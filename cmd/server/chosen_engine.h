// Who computes for a server: the processor, or a device that has a copy of the keys; and the keys out of their file.
#pragma once

#include <memory>
#include <set>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/engine/engine.h"
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
               std::unique_ptr<const ckks::Engine> device, const std::set<ckks::BootstrapKind>& kinds);

  const ckks::Encoder encoder;
  const ckks::Evaluator evaluator;
  const ckks::Bootstrappers bootstrappers;
};

// Shows a progress bar. Throws Error if a key is missing.
ckks::EvaluationKeys read_keys(wire::EvaluationKeysReader& reader, const ckks::KeyRequest& request);

}  // namespace psm::cmd
