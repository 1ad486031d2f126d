#include "cmd/server/device.h"

#include "ckks/base/error.h"
#include "ckks/device/cuda/cuda_device.h"
#include "ckks/device/device_engine.h"
#include "ckks/device/emulated_device.h"
#include "ckks/program/machines/encrypted_machine.h"
#include "ckks/ring/kernels/backend.h"

namespace psm::cmd {
namespace {

Json json_of(const ckks::LaunchLog& log) {
  const ckks::LaunchLog::Entry total = log.total();
  return Json::Object{{"launches", total.launches},
                      {"bytes", total.work.bytes},
                      {"products", total.work.products},
                      {"uploaded_bytes", log.uploaded_bytes},
                      {"predicted_ms", 1e3 * ckks::predicted_h200_seconds(log)}};
}

}  // namespace

DeviceFlag::DeviceFlag(Flags& flags)
    : name(flags.text("device", "cpu",
                      "who computes on ciphertexts: cpu; cuda, a GPU (bazel run --config=cuda); emulated, "
                      "what the GPU would do, on the processor and slowly, to check it")),
      backend(flags.text("backend", "",
                         "kernels of the processor: scalar, avx2 or avx512ifma; the fastest unless given")) {}

void DeviceFlag::select_kernels() const {
  if (!backend.empty()) ckks::select_backend(backend);
}

std::unique_ptr<ckks::Device> DeviceFlag::open() const {
  select_kernels();
  if (name == "cpu") return nullptr;
  if (name == "cuda") return ckks::open_cuda_device();
  if (name == "emulated")
    return std::make_unique<ckks::EmulatedDevice>(ckks::EmulationOptions{.guarded = false});
  throw Error(message("--device ", name, " is not known; there are: cpu, cuda, emulated"));
}

void DeviceFlag::require_room(const ckks::Device* device, size_t bytes) {
  if (device == nullptr || bytes <= device->arena_bytes()) return;
  throw Error(message("the device has ", device->arena_bytes() >> 20, " MiB of memory, and this run needs ",
                      bytes >> 20, " MiB; use one with more, or compute without --device"));
}

std::unique_ptr<const ckks::Engine> engine_on(ckks::Device* device, const ckks::Context& context) {
  return device == nullptr ? nullptr : std::make_unique<ckks::DeviceEngine>(context, *device);
}

Figures DevicePass::figures() const {
  const auto milliseconds = [](const ckks::LaunchLog& log) {
    return seconds_text(ckks::predicted_h200_seconds(log));
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
  ckks::EmulatedDevice device(ckks::kCountsOnly);
  {
    const ckks::EvaluationKeys keys = unwritten_keys(context, planned.keys, device);
    const ckks::DeviceEngine engine(context, device);
    const ckks::Encoder encoder(context, &engine);
    const ckks::Evaluator evaluator(engine, keys);
    const ckks::Bootstrappers bootstrappers =
        ckks::make_bootstrappers(context, encoder, program::bootstrap_kinds(plan));
    program::EncryptedMachine machine(plan, encoder, evaluator, &bootstrappers);
    std::map<std::string, ckks::Ciphertext> inputs;
    for (const PlanEnd& end : planned.ends().inputs)
      inputs.emplace(end.name, ckks::Ciphertext(context.ring(), {end.level + 1, 0}, context.scale(end.level),
                                                keys.fingerprint));
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
