// The engine of a server: the processor, or a device with a copy of the keys.
#pragma once

#include <memory>

#include "ckks/device/device.h"
#include "ckks/engine/engine.h"

namespace psm::cmd {

class ChosenEngine {
 public:
  // Null is the processor. Keys are copied to the device once; throws Error if there is no room for them.
  ChosenEngine(const ckks::Context& context, const ckks::EvaluationKeys& keys, ckks::Device* device);

  const ckks::Engine& engine() const { return *engine_; }
  const ckks::EvaluationKeys& keys() const { return *keys_; }  // in the engine's memory

 private:
  std::unique_ptr<const ckks::Engine> engine_;
  ckks::EvaluationKeys copy_;
  const ckks::EvaluationKeys* keys_;
};

}  // namespace psm::cmd
