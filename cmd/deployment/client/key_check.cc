#include "cmd/deployment/client/key_check.h"

#include <cmath>
#include <complex>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/base/interruption.h"
#include "ckks/base/memory.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/server/evaluator.h"
#include "ckks/wire/client/secret_key_file.h"
#include "ckks/wire/key_file.h"

namespace psm::cmd {
namespace {

using Slots = std::vector<std::complex<double>>;

constexpr double kAllowance = 4;
const double kSize = std::sqrt(2.0 / 3);  // root mean square of the slots below

// Uniform in [-1, 1] + i [-1, 1].
Slots test_slots(const ckks::Context& context) {
  TrainingRandom random(1);
  Slots slots(static_cast<size_t>(context.slots()));
  for (auto& slot : slots) {
    const double re = random.uniform(-1, 1);
    slot = {re, random.uniform(-1, 1)};
  }
  return slots;
}

// What X -> X^element makes of slots: a rotation by k where element = 5^k mod 2N, or one with a conjugation
// where it is -5^k.
Slots apply_galois(const Slots& slots, ckks::GaloisElement element) {
  const size_t n = slots.size();
  const ckks::GaloisElement order = 4 * n;  // 2N
  ckks::GaloisElement power = 1;
  size_t k = 0;
  for (; power != element && power != order - element; ++k) power = 5 * power % order;
  Slots out(n);
  for (size_t j = 0; j < n; ++j) out[j] = slots[(j + k) % n];
  if (power != element) {
    for (auto& slot : out) slot = std::conj(slot);
  }
  return out;
}

class Check {
 public:
  Check(const KeyFiles& files, const ckks::Context& context)
      : files_(files),
        context_(context),
        encoder_(context),
        secret_(wire::read_secret_key(files.secret, context)),
        decryptor_(secret_, encoder_),
        seeded_(secret_),
        noise_(context),
        slots_(test_slots(context)) {}

  void encryption() {
    const ckks::Level level = context_.max_level();
    const ckks::Scale scale = context_.scale(level);
    const ckks::PublicKey key = wire::read_public_key(files_.public_key, context_);
    expect("encryption under the public key",
           ckks::Encryptor(context_, key).encrypt(encoder_.encode(slots_, level)), slots_,
           noise_.encryption(scale));
    expect("encryption under the secret key", encrypted(level), slots_, noise_.seeded_encryption(scale));
  }

  // One key at a time, those of `covered` left out; returns how many there were.
  size_t every_key_but(const ckks::KeyRequest& covered) {
    const auto levels = covered.relinearisation_keys(context_.chain());
    const auto elements = covered.galois_keys(context_.chain());
    const std::set<int> covered_products(levels.begin(), levels.end());
    const std::set<std::pair<ckks::GaloisElement, int>> covered_elements(elements.begin(), elements.end());
    wire::EvaluationKeysReader reader(files_.evaluation, context_);
    ckks::EvaluationKeys one;
    one.fingerprint = reader.fingerprint();
    const ckks::Evaluator evaluator(context_, one);
    size_t count = 0;
    for (const auto& entry : reader.entries()) {
      const ckks::Level level = entry.level;
      const int band = context_.band(level);
      const ckks::Scale scale = context_.scale(level);
      const double fresh = noise_.seeded_encryption(scale);
      if (entry.role == wire::KeyRole::kRelinearisation) {
        if (covered_products.contains(level)) continue;
        one.relinearisation.emplace(band, reader.load(entry));
        Slots squares = slots_;
        for (auto& slot : squares) slot *= slot;
        const double added = noise_.relinearise_rescale(level, scale * scale, context_.scale(level - 1));
        expect(message("the key for products at level ", level), evaluator.square_rescale(encrypted(level)),
               squares, ckks::NoiseModel::sum(ckks::NoiseModel::square(kSize, fresh), added));
      } else if (entry.role == wire::KeyRole::kGalois) {
        if (covered_elements.contains({entry.element, level})) continue;
        one.galois.emplace(std::pair{entry.element, band}, reader.load(entry));
        expect(message("the key of the Galois element ", entry.element, " at level ", level),
               evaluator.apply_galois(encrypted(level), entry.element), apply_galois(slots_, entry.element),
               ckks::NoiseModel::sum(fresh, noise_.key_switch(level, scale)));
      } else {
        continue;  // means something in a bootstrap alone
      }
      stop_if_interrupted(kNoKeysKept);
      one.relinearisation.clear();
      one.galois.clear();
      ++count;
    }
    return count;
  }

  void bootstrap(const ckks::BootstrapPlan& plan) {
    const ckks::Bootstrapper bootstrapper(context_, encoder_);
    bootstrap(bootstrapper, plan, slots_);
  }

  // What repeats as it asks comes back.
  void bootstrap(const ckks::SparseBootstrapPlan& plan) {
    const ckks::SparseBootstrapper bootstrapper(context_, encoder_, plan.kind());
    const ckks::BootstrapKind& kind = plan.kind();
    Slots slots = slots_;
    for (size_t j = 0; j < slots.size(); ++j) {
      const ckks::Complex first = slots_[j % kind.period / kind.block * kind.block];
      slots[j] = kind.of_blocks() ? first.real() : first;
    }
    bootstrap(bootstrapper, plan, slots);
  }

 private:
  template <typename AnyBootstrapper, typename Plan>
  void bootstrap(const AnyBootstrapper& bootstrapper, const Plan& plan, const Slots& slots) {
    const ckks::EvaluationKeys keys =
        wire::EvaluationKeysReader(files_.evaluation, context_).load(plan.key_request());
    const ckks::Evaluator evaluator(context_, keys);
    const auto input = ckks::expand(seeded_.encrypt(encoder_.encode(slots, plan.entry_level())));
    // The model's error is one of a component.
    expect("a bootstrap", bootstrapper.apply(evaluator, input), slots,
           std::sqrt(2.0) * ckks::predict_error(ckks::BootstrapPlan(context_)).rms());
  }

  // Encrypted once a level: there are many more keys than levels.
  const ckks::Ciphertext& encrypted(ckks::Level level) {
    const auto [place, is_new] = encrypted_.try_emplace(level);
    if (is_new) place->second = ckks::expand(seeded_.encrypt(encoder_.encode(slots_, level)));
    return place->second;
  }

  void expect(const std::string& what, const ckks::Ciphertext& result, const Slots& expected,
              double predicted) const {
    const Slots found = decryptor_.decrypt(result);
    double sum = 0;
    for (size_t j = 0; j < found.size(); ++j) sum += std::norm(found[j] - expected[j]);
    const double error = std::sqrt(sum / static_cast<double>(found.size()));
    if (error <= kAllowance * predicted) return;
    throw Error(
        message("the new keys failed their test: ", what, " is off by 2^", std::log2(error), ", 2^",
                std::log2(predicted),
                " is its error; they are not kept. Make keys again; if that fails too, check the memory"),
        Error::Kind::kFailed);
  }

  const KeyFiles& files_;
  const ckks::Context& context_;
  const ckks::Encoder encoder_;
  const ckks::SecretKey secret_;
  const ckks::Decryptor decryptor_;
  ckks::SeededEncryptor seeded_;
  const ckks::NoiseModel noise_;
  const Slots slots_;
  std::map<int, ckks::Ciphertext> encrypted_;
};

}  // namespace

KeyCheck check_keys(const KeyFiles& files, const ckks::Context& context, const ckks::BootstrapPlan* bootstrap,
                    const ckks::SparseBootstrapPlan* sparse, size_t bootstrap_bytes) {
  Check check(files, context);
  check.encryption();
  const uint64_t available = available_memory_bytes();
  const bool fits = available == 0 || bootstrap_bytes <= available;
  ckks::KeyRequest covered;
  if (bootstrap != nullptr && fits) {
    check.bootstrap(*bootstrap);
    covered = bootstrap->key_request();
  } else if (sparse != nullptr && fits) {
    check.bootstrap(*sparse);
    covered = sparse->key_request();
  }
  return {check.every_key_but(covered), covered.encapsulation};
}

}  // namespace psm::cmd
