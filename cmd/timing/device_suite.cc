#include "cmd/timing/device_suite.h"

#include <algorithm>
#include <memory>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/device/counting_device.h"
#include "ckks/device/device_engine.h"
#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

constexpr int kTransformLimbs = 30, kOperandLimbs = 20;

// One side: who computes, with keys, and its bootstrapper.
struct Side {
  Side(std::unique_ptr<const ckks::Engine> made, const ckks::EvaluationKeys& keys)
      : engine(std::move(made)),
        encoder(engine->context(), engine->residue_maker()),
        evaluator(*engine, keys),
        bootstrapper(engine->context(), encoder) {}

  std::unique_ptr<const ckks::Engine> engine;
  ckks::Encoder encoder;
  ckks::Evaluator evaluator;
  ckks::Bootstrapper bootstrapper;
};

struct Operation {
  const char* name;
  ckks::Level level;  // of the operand
  std::function<ckks::Ciphertext(const Side&, const ckks::Ciphertext&)> apply;
  std::optional<DeviceBar> bar{};
};

bool same(const ckks::Ciphertext& there, const ckks::Ciphertext& here) {
  const ckks::Ciphertext x = there.in(nullptr);
  const auto equal = [](const ckks::RnsPoly& a, const ckks::RnsPoly& b) {
    return a.basis() == b.basis() &&
           std::equal(a.limb(0), a.limb(0) + a.bytes() / sizeof(uint64_t), b.limb(0));
  };
  return equal(x.c[0], here.c[0]) && equal(x.c[1], here.c[1]);
}

DeviceRow::Measured measured(int repetitions, bool same_bits, const std::function<void()>& run) {
  std::vector<double> seconds;
  for (int i = 0; i < repetitions; ++i) {
    const double begin = seconds_now();
    run();
    seconds.push_back(seconds_now() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return {1e3 * seconds.front(), 1e3 * seconds[seconds.size() / 2], same_bits};
}

// What one run asks for, and the least time in which the host did.
DeviceRow counted(ckks::Device& device, const std::function<void()>& run) {
  constexpr int kTimes = 5;
  DeviceRow row;
  for (int i = 0; i <= kTimes; ++i) {
    device.take_log();
    const double begin = seconds_now();
    run();
    const double ms = 1e3 * (seconds_now() - begin);
    if (i == 0) continue;  // constants went to the device
    row.host_ms = i == 1 ? ms : std::min(row.host_ms, ms);
  }
  row.log = device.take_log();
  row.predicted_ms = 1e3 * ckks::predicted_seconds(row.log, ckks::kH200ByDataSheet);
  return row;
}

// Limbs there and forward, one after another in the ring's primes.
class Transforms {
 public:
  Transforms(const ckks::Context& context, ckks::Device& device)
      : ring_(context.ring()),
        device_(device),
        tables_(context, device),
        limbs_(std::min(kTransformLimbs, ring_.full_basis().limbs())),
        room_(static_cast<size_t>(limbs_) * ring_.n(), &device) {}

  int limbs() const { return limbs_; }
  void run() const {
    ckks::NttBatch batch{tables_.views(), ring_.log_n(), limbs_, {}};
    for (int i = 0; i < limbs_; ++i) batch.tasks[i] = {limb(i), limb(i), nullptr, i};
    ckks::with_column_bits(ring_.log_n(), [&](auto bits) {
      device_.launch(ckks::NttColumns<decltype(bits)::value, ckks::NttDirection::kForward>{batch});
    });
    device_.launch(ckks::NttRows<ckks::NttDirection::kForward>{batch});
  }
  void wait() const {
    uint64_t word;
    device_.download(&word, limb(0), 1);
  }
  // Of ones, which are every prime's.
  bool same_bits() const {
    std::vector<uint64_t> ones(ring_.n(), 1), there(ring_.n());
    for (int i = 0; i < limbs_; ++i) device_.upload(limb(i), ones.data(), ring_.n());
    run();
    bool same = true;
    for (int i = 0; i < limbs_; ++i) {
      std::vector<uint64_t> here = ones;
      ckks::kernels().ntt_forward(here.data(), here.data(), ring_.ntt(i));
      device_.download(there.data(), limb(i), ring_.n());
      same &= there == here;
    }
    return same;
  }

 private:
  uint64_t* limb(int i) const {
    return const_cast<uint64_t*>(room_.data()) + static_cast<size_t>(i) * ring_.n();
  }

  const ckks::Ring& ring_;
  ckks::Device& device_;
  ckks::DeviceTables tables_;
  int limbs_;
  Buffer room_;
};

}  // namespace

Json DeviceRow::json() const {
  Json json;
  const ckks::LaunchLog::Entry total = log.total();
  json["op"] = name;
  json["limbs"] = limbs;
  json["launches"] = total.launches;
  json["small_launches"] = log.small.launches;
  json["bytes"] = total.work.bytes;
  json["products"] = total.work.products;
  json["predicted_ms"] = predicted_ms;
  json["host_ms"] = host_ms;
  if (bar) {
    json["must_ms"] = bar->must_ms;
    json["aim_ms"] = bar->aim_ms;
  }
  if (measured) {
    json["least_ms"] = measured->least_ms;
    json["median_ms"] = measured->median_ms;
    json["same_bits"] = measured->same_bits;
  }
  return json;
}

std::vector<DeviceRow> device_suite(const ckks::Context& context, ckks::Device* device,
                                    const DeviceSuiteOptions& options) {
  const auto level = ckks::Level::at(std::min<int>(kOperandLimbs - 1, context.max_level()));
  const ckks::GaloisElement g = ckks::galois_element(context, 1);
  const Operation operations[] = {
      {"rotate", level,
       [&](const Side& side, const ckks::Ciphertext& x) { return side.evaluator.apply_galois(x, g); },
       DeviceBar{0.25, 0.15}},
      {"multiply_relinearise", level,
       [](const Side& side, const ckks::Ciphertext& x) { return side.evaluator.multiply(x, x); }},
      {"bootstrap_full", context.entry_level(),
       [](const Side& side, const ckks::Ciphertext& x) { return side.bootstrapper.apply(side.evaluator, x); },
       DeviceBar{30, 15}}};
  ckks::KeyRequest request = ckks::BootstrapPlan(context).key_request();
  request.need_galois(g, level);
  request.need_relinearisation(level);
  const auto starting = [&](const char* name) {
    if (options.starting) options.starting(name);
  };

  std::vector<DeviceRow> rows;
  {
    ckks::CountingDevice counting;
    const Transforms transforms(context, counting);
    rows.push_back(counted(counting, [&] { transforms.run(); }));
    rows.back().name = "ntt_forward";
    rows.back().limbs = transforms.limbs();
    rows.back().bar = DeviceBar{0.03, 0.02};
    const ckks::EvaluationKeys keys = unwritten_keys(context, request, counting);
    const Side side(std::make_unique<const ckks::DeviceEngine>(context, counting), keys);
    for (const Operation& operation : operations) {
      const ckks::Ciphertext x(context.ring(), {operation.level + 1, 0}, context.scale(operation.level),
                               keys.fingerprint, &counting);
      rows.push_back(counted(counting, [&] { operation.apply(side, x); }));
      rows.back().name = operation.name;
      rows.back().limbs = operation.level + 1;
      rows.back().bar = operation.bar;
    }
  }
  if (device == nullptr) return rows;

  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  starting("keys");
  const ckks::EvaluationKeys keys = generator.evaluation_keys(request), keys_there = keys.in(device);
  const ckks::PublicKey public_key = generator.public_key();
  ckks::Encryptor encryptor(context, public_key);
  const Side here(std::make_unique<const ckks::HostEngine>(context), keys),
      there(std::make_unique<const ckks::DeviceEngine>(context, *device), keys_there);
  starting(rows[0].name.c_str());
  {
    const Transforms transforms(context, *device);
    rows[0].measured = measured(options.repetitions, transforms.same_bits(), [&] {
      transforms.run();
      transforms.wait();
    });
  }
  for (size_t i = 0; i < std::size(operations); ++i) {
    const Operation& operation = operations[i];
    starting(operation.name);
    const ckks::Ciphertext x =
        encryptor.encrypt(here.encoder.encode(ckks::uniform_vector(context.slots(), 1), operation.level));
    const ckks::Ciphertext moved = x.in(device);
    const bool same_bits = same(operation.apply(there, moved), operation.apply(here, x));
    rows[i + 1].measured = measured(options.repetitions, same_bits, [&] {
      const ckks::Ciphertext result = operation.apply(there, moved);
      uint64_t word;
      device->download(&word, result.c[0].limb(0), 1);
    });
  }
  return rows;
}

}  // namespace psm::cmd
