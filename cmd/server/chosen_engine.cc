#include "cmd/server/chosen_engine.h"

#include "ckks/device/device_engine.h"
#include "ckks/engine/host_engine.h"

namespace psm::cmd {

ChosenEngine::ChosenEngine(const ckks::Context& context, const ckks::EvaluationKeys& keys,
                           ckks::Device* device)
    : keys_(&keys) {
  if (device == nullptr) {
    engine_ = std::make_unique<ckks::HostEngine>(context);
    return;
  }
  engine_ = std::make_unique<ckks::DeviceEngine>(context, *device);
  copy_ = keys.in(device);
  keys_ = &copy_;
}

}  // namespace psm::cmd
