#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/device/device_engine.h"
#include "ckks/device/emulated_device.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/server/chosen_engine.h"
#include "cmd/timing/suites.h"

namespace psm::cmd {
namespace {

constexpr int kTransformLimbs = 30, kOperandLimbs = 20;

struct Operation {
  const char* name;
  ckks::Level level;  // of the operand
  std::function<ckks::Ciphertext(const ChosenEngine&, const ckks::Ciphertext&)> apply;
};

// What was asked for, for people and machines.
void add_entry(const ckks::LaunchLog::Entry& entry, Figures::Row& row) {
  const auto bytes = static_cast<double>(entry.work.bytes),
             products = static_cast<double>(entry.work.products);
  row.both("launches", "launches", entry.launches)
      .both("bytes", "bytes", entry.work.bytes, bytes_text(bytes))
      .both("products", "products", entry.work.products, format("%.3g", products));
}

// What one run asks for.
ckks::LaunchLog counted(ckks::Device& device, const std::function<void()>& run) {
  run();  // constants go to the device
  device.take_log();
  run();
  return device.take_log();
}

// Limbs there and forward, one after another in the ring's primes.
class Transforms {
 public:
  Transforms(const ckks::Context& context, ckks::Device& device)
      : ring_(context.ring()),
        device_(device),
        engine_(context, device),
        limbs_(std::min(kTransformLimbs, ring_.full_basis().limbs())),
        room_(static_cast<size_t>(limbs_) * ring_.n(), &device) {}

  int limbs() const { return limbs_; }
  void run() const {
    ckks::NttBatch batch{engine_.views(), ring_.log_n(), limbs_, {}};
    for (int i = 0; i < limbs_; ++i) batch.tasks[i] = {limb(i), limb(i), nullptr, i};
    ckks::with_column_bits(ring_.log_n(), [&](auto bits) {
      device_.launch(ckks::NttColumns<decltype(bits)::value, ckks::NttDirection::kForward>{batch});
    });
    device_.launch(ckks::NttRows<ckks::NttDirection::kForward>{{}, batch});
  }
  void wait() const {
    uint64_t word;
    device_.download(&word, limb(0), 1);
  }
  // Checks with ones, which are residues of every prime.
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
  ckks::DeviceEngine engine_;
  int limbs_;
  Buffer room_;
};

}  // namespace

DeviceTimes device_suite(const ckks::Context& context, ckks::Device* device, const SuiteOptions& options) {
  const auto level = ckks::Level::at(std::min<int>(kOperandLimbs - 1, context.max_level()));
  const ckks::GaloisElement g = ckks::galois_element(context, 1);
  const Operation operations[] = {
      {"rotate", level,
       [&](const ChosenEngine& side, const ckks::Ciphertext& x) {
         return side.evaluator.apply_galois(x, g);
       }},
      {"multiply_relinearise", level,
       [](const ChosenEngine& side, const ckks::Ciphertext& x) { return side.evaluator.multiply(x, x); }},
      {"bootstrap_full", context.entry_level(), [](const ChosenEngine& side, const ckks::Ciphertext& x) {
         return side.bootstrappers.at({}).apply(side.evaluator, x);
       }}};
  ckks::KeyRequest request = ckks::BootstrapPlan(context).key_request();
  request.need_galois(g, level);
  request.need_relinearisation(level);

  DeviceTimes out;
  std::vector<Figures::Row*> rows;
  const auto add = [&](const char* name, int limbs, ckks::LaunchLog log) {
    Figures::Row& row = out.operations.row().both("op", "operation", name).both("limbs", "limbs", limbs);
    add_entry(log.total(), row);
    row.number("predicted_ms", "predicted ms", 1e3 * ckks::predicted_h200_seconds(log), "%.3g");
    rows.push_back(&row);
    out.bootstrap = std::move(log);  // the bootstrap is added last, so its log stays
  };
  const auto add_measured = [&](size_t row, const Times& times, bool same_bits) {
    rows[row]
        ->number("median_ms", "median ms", 1e3 * times.median, "%.4g")
        .number("least_ms", "least ms", 1e3 * times.least, "%.4g")
        .both("same_bits", "same bits", same_bits, same_bits ? "yes" : "NO");
  };
  {
    ckks::EmulatedDevice counting(ckks::kCountsOnly);
    const Transforms transforms(context, counting);
    add("ntt_forward", transforms.limbs(), counted(counting, [&] { transforms.run(); }));
    const ckks::EvaluationKeys keys = unwritten_keys(context, request, counting);
    const ChosenEngine side(context, keys, std::make_unique<const ckks::DeviceEngine>(context, counting),
                            {{}});
    for (const Operation& operation : operations) {
      const ckks::Ciphertext x(context.ring(), {operation.level + 1, 0}, context.scale(operation.level),
                               keys.fingerprint, &counting);
      add(operation.name, operation.level + 1, counted(counting, [&] { operation.apply(side, x); }));
    }
  }
  if (device == nullptr) return out;

  const ckks::SecretKey secret = ckks::SecretKey::generate(context);
  ckks::KeyGenerator generator(secret);
  say("timing keys");
  const ckks::EvaluationKeys keys = generator.evaluation_keys(request);
  const ckks::PublicKey public_key = generator.public_key();
  ckks::Encryptor encryptor(context, public_key);
  const ChosenEngine here(context, keys, nullptr, {{}}),
      there(context, keys, std::make_unique<const ckks::DeviceEngine>(context, *device), {{}});
  say(message("timing ", "ntt_forward"));
  {
    const Transforms transforms(context, *device);
    const bool same_bits = transforms.same_bits();
    const Times times = measure(options.repetitions, [&] {
      transforms.run();
      transforms.wait();
    });
    add_measured(0, times, same_bits);
  }
  for (size_t i = 0; i < std::size(operations); ++i) {
    const Operation& operation = operations[i];
    say(message("timing ", operation.name));
    const ckks::Ciphertext x =
        encryptor.encrypt(here.encoder.encode(random_slots(1, context.slots()), operation.level));
    const ckks::Ciphertext moved = x.in(device);
    const ckks::Ciphertext theirs = operation.apply(there, moved), ours = operation.apply(here, x);
    const bool same_bits = ckks::same_bits(theirs.c[0], ours.c[0]) && ckks::same_bits(theirs.c[1], ours.c[1]);
    const Times times = measure(options.repetitions, [&] {
      const ckks::Ciphertext result = operation.apply(there, moved);
      uint64_t word;
      device->download(&word, result.c[0].limb(0), 1);
    });
    add_measured(i + 1, times, same_bits);
    device->take_log();
    device->time_launches(true);
    operation.apply(there, moved);
    out.bootstrap = device->take_log();  // the bootstrap is timed last, so its log stays
    device->time_launches(false);
  }
  return out;
}

Figures log_figures(const std::string& title, const ckks::LaunchLog& log) {
  Figures figures;
  const auto row = [&](const std::string& name, const ckks::LaunchLog::Entry& entry) {
    Figures::Row& out = figures.row().both("program", title, name);
    add_entry(entry, out);
    if (entry.seconds > 0) out.number("ms", "ms", 1e3 * entry.seconds, "%.3g");
  };
  for (const auto& [name, entry] : log.programs) row(name, entry);
  row("all", log.total());
  return figures;
}

}  // namespace psm::cmd
