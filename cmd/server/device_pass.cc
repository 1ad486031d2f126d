#include "cmd/server/device_pass.h"

#include "ckks/device/counting_device.h"
#include "ckks/device/device_engine.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "cmd/server/device_flag.h"

namespace psm::cmd {
namespace {

Json json_of(const ckks::LaunchLog& log) {
  const ckks::LaunchLog::Entry total = log.total();
  return Json::Object{{"launches", total.launches},
                      {"small_launches", log.small.launches},
                      {"bytes", total.work.bytes},
                      {"products", total.work.products},
                      {"uploaded_bytes", log.uploaded_bytes},
                      {"predicted_ms", 1e3 * ckks::predicted_seconds(log, ckks::kH200ByDataSheet)}};
}

}  // namespace

Figures DevicePass::figures() const {
  const auto milliseconds = [](const ckks::LaunchLog& log) {
    return seconds_text(ckks::predicted_seconds(log, ckks::kH200ByDataSheet));
  };
  Figures figures;
  figures.row()
      .both("bootstraps", "bootstraps", bootstraps)
      .both("run", "a pass", json_of(run), milliseconds(run) + " predicted")
      .both("preparation", "preparation", json_of(preparation),
            milliseconds(preparation) + " predicted, " +
                bytes_text(static_cast<double>(preparation.uploaded_bytes)) + " uploaded")
      .number("peak_bytes", "device memory at its peak", static_cast<double>(peak_bytes), bytes_text)
      .number("key_bytes", "keys of it", static_cast<double>(key_bytes), bytes_text);
  return figures;
}

DevicePass count_pass(const PlannedPass& planned) {
  const ckks::Context& context = *planned.context;
  const program::Plan& plan = planned.plan;
  DevicePass pass;
  ckks::CountingDevice device;
  {
    const ckks::EvaluationKeys keys = unwritten_keys(context, planned.keys, device);
    const ckks::DeviceEngine engine(context, device);
    const ckks::Encoder encoder(context, &engine);
    const ckks::Evaluator evaluator(engine, keys);
    const ckks::Bootstrappers bootstrappers =
        ckks::make_bootstrappers(context, encoder, program::bootstrap_kinds(plan));
    program::EncryptedMachine machine(plan, encoder, evaluator, &bootstrappers);
    std::map<std::string, ckks::Ciphertext> inputs;
    for (size_t i = 0; i < plan.program.inputs.size(); ++i) {
      const ckks::Level level = plan.input_levels[i];
      inputs.emplace(plan.program.inputs[i].name, ckks::Ciphertext(context.ring(), {level + 1, 0},
                                                                   context.scale(level), keys.fingerprint));
    }
    pass.bootstraps = plan.bootstraps;
    pass.key_bytes = keys.bytes();
    device.take_log();
    machine.prepare();
    pass.preparation = device.take_log();
    machine.run(inputs);
    pass.run = device.take_log();
  }
  pass.peak_bytes = device.peak_bytes();
  return pass;
}

void fit_to_device(const ckks::Device* device, PlannedPass& pass) {
  if (device == nullptr) return;
  const size_t peak = count_pass(pass).peak_bytes;
  DeviceFlag::require_room(device, peak);
  // A tenth stays free: memory that is handed out and comes back falls to pieces.
  pass.device_room = (device->arena_bytes() - peak) / 10 * 9;
}

}  // namespace psm::cmd
