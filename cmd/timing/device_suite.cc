#include "cmd/timing/device_suite.h"

#include <algorithm>

#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/protocol/chosen_engine.h"
#include "cmd/terminal/common_flags.h"

namespace psm::cmd {
namespace {

bool same(const ckks::Ciphertext& there, const ckks::Ciphertext& here) {
  const ckks::Ciphertext x = there.in(nullptr);
  const auto equal = [](const ckks::RnsPoly& a, const ckks::RnsPoly& b) {
    return a.basis() == b.basis() &&
           std::equal(a.limb(0), a.limb(0) + a.bytes() / sizeof(uint64_t), b.limb(0));
  };
  return equal(x.c[0], here.c[0]) && equal(x.c[1], here.c[1]);
}

// One side: its evaluator, and its bootstrapper.
struct Side {
  Side(const ckks::Context& context, const ckks::EvaluationKeys& keys, ckks::Device* device)
      : chosen(context, keys, device),
        encoder(context, chosen.engine().memory()),
        evaluator(chosen.engine(), chosen.keys()),
        bootstrapper(context, encoder) {}

  ChosenEngine chosen;
  ckks::Encoder encoder;
  ckks::Evaluator evaluator;
  ckks::Bootstrapper bootstrapper;
};

}  // namespace

Json DeviceRow::json() const {
  Json json;
  json["op"] = name;
  json["limbs"] = limbs;
  json["launches"] = total.launches;
  json["bytes"] = total.work.bytes;
  json["products"] = total.work.products;
  json["predicted_ms"] = predicted_ms;
  json["least_ms"] = least_ms;
  json["median_ms"] = median_ms;
  json["same_bits"] = same_bits;
  return json;
}

std::vector<DeviceRow> device_suite(const ckks::Context& context, ckks::Device& device,
                                    const DeviceSuiteOptions& options) {
  constexpr int kLimbs = 20;
  const auto level = ckks::Level::at(std::min<int>(kLimbs - 1, context.max_level()));
  const ckks::GaloisElement g = ckks::galois_element(context, 1);
  ckks::KeyRequest request = ckks::BootstrapPlan(context).key_request();
  request.need_galois(g, level);
  request.need_relinearisation(level);
  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  const ckks::EvaluationKeys keys = generator.evaluation_keys(request);
  const ckks::PublicKey public_key = generator.public_key();
  ckks::Encryptor encryptor(context, public_key);
  const Side here(context, keys, nullptr), there(context, keys, &device);

  std::vector<DeviceRow> rows;
  const auto time = [&](const char* name, ckks::Level at, const auto& operation) {
    if (options.starting) options.starting(name);
    const ckks::Ciphertext x =
        encryptor.encrypt(here.encoder.encode(ckks::uniform_vector(context.slots(), 1), at));
    const ckks::Ciphertext moved = x.in(&device);
    DeviceRow& row = rows.emplace_back();
    row.name = name;
    row.limbs = at + 1;
    row.same_bits = same(operation(there, moved), operation(here, x));
    std::vector<double> seconds;
    for (int i = 0; i < options.repetitions; ++i) {
      device.take_log();
      const double begin = seconds_now();
      const ckks::Ciphertext result = operation(there, moved);
      const ckks::LaunchLog log = device.take_log();
      uint64_t word;
      device.download(&word, result.c[0].limb(0), 1);
      seconds.push_back(seconds_now() - begin);
      row.total = log.total();
      row.predicted_ms = 1e3 * ckks::predicted_seconds(log, ckks::kH200ByDataSheet);
    }
    std::sort(seconds.begin(), seconds.end());
    row.least_ms = 1e3 * seconds.front();
    row.median_ms = 1e3 * seconds[seconds.size() / 2];
  };
  time("rotate", level,
       [&](const Side& side, const ckks::Ciphertext& x) { return side.evaluator.apply_galois(x, g); });
  time("multiply_relinearise", level,
       [](const Side& side, const ckks::Ciphertext& x) { return side.evaluator.multiply(x, x); });
  time("bootstrap_full", context.entry_level(), [](const Side& side, const ckks::Ciphertext& x) {
    return side.bootstrapper.apply(side.evaluator, x);
  });
  return rows;
}

}  // namespace psm::cmd
