#include <algorithm>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "ckks/base/random/training_random.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/error_model.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "cmd/timing/suites.h"

namespace psm::cmd {
namespace {

constexpr int kSparseSlots = 1 << 10;

class Suite {
 public:
  Suite(const ckks::Context& context, const SuiteOptions& options)
      : context_(context),
        options_(options),
        encoder_(context),
        secret_(ckks::SecretKey::generate(context)),
        generator_(secret_),
        encryptor_(secret_) {}

  Figures run() {
    transforms();
    operations();
    bootstrap();
    sparse_bootstrap();
    return std::move(figures_);
  }

 private:
  Figures::Row& add(const char* name, int limbs, Times times) {
    return figures_.row()
        .both("name", "operation", name)
        .both("limbs", "limbs", limbs)
        .both("threads", "threads", thread_count())
        .json("backend", ckks::kernels().name)
        .number("median_ms", "median ms", 1e3 * times.median, "%.4g")
        .number("min_ms", "min ms", 1e3 * times.least, "%.4g");
  }

  template <typename Body>
  void time(const char* name, int limbs, const Body& body) {
    say(message("timing ", name));
    add(name, limbs, measure(options_.repetitions, body));
  }

  ckks::Ciphertext encrypt(const std::vector<ckks::Complex>& values, ckks::Level level) {
    return ckks::expand(encryptor_.encrypt(encoder_.encode(values, level)));
  }

  void transforms() {
    const int threads = thread_count();
    set_thread_count(1);
    const ckks::Ring& ring = context_.ring();
    Buffer limb(ring.n());
    for (size_t i = 0; i < limb.size(); ++i) limb[i] = ring.q(0).value - 1 - i;
    time("ntt_forward", 1, [&] { ckks::kernels().ntt_forward(limb.data(), limb.data(), ring.ntt(0)); });
    time("ntt_inverse", 1, [&] { ckks::kernels().ntt_inverse(limb.data(), limb.data(), ring.ntt(0)); });
    set_thread_count(threads);
  }

  void operations() {
    constexpr int kFew = 10, kMany = 20;
    const ckks::GaloisElement g = ckks::galois_element(context_, 1);
    ckks::KeyRequest request;
    for (const int limbs : {kFew, kMany}) {
      request.need_relinearisation(ckks::level_of({limbs, 0}));
      request.need_galois(g, ckks::level_of({limbs, 0}));
    }
    const ckks::EvaluationKeys keys = generator_.evaluation_keys(request);
    const ckks::Evaluator evaluator(context_, keys);
    const std::vector<ckks::Complex> x = random_slots(1, context_.slots());

    time("encode", kFew, [&] { encoder_.encode(x, kFew - 1); });

    for (const int limbs : {kFew, kMany}) {
      const ckks::Level level = ckks::level_of({limbs, 0});
      const ckks::Ciphertext a = encrypt(x, level);
      time("rotate", limbs, [&] { evaluator.rotate(a, 1); });
    }
    const ckks::Ciphertext a = encrypt(x, kMany - 1);
    const ckks::Hoisted hoisted = evaluator.hoist(a);
    time("rotate_hoisted", kMany, [&] { evaluator.apply_galois(hoisted, g); });  // a further rotation
    for (const int limbs : {kFew, kMany}) {
      const ckks::Level level = ckks::level_of({limbs, 0});
      const ckks::Ciphertext b = encrypt(x, level), c = encrypt(x, level);
      time("multiply_relinearise", limbs, [&] { evaluator.multiply(b, c); });
    }
    const ckks::Plaintext plain = encoder_.encode(x, kMany - 1);
    time("multiply_plain", kMany, [&] { evaluator.multiply_plain(a, plain); });
    time("rescale", kMany, [&] { evaluator.rescale(a); });
  }

  void bootstrap() {
    say("timing bootstrap_keygen");
    const ckks::Bootstrapper bootstrapper(context_, encoder_);
    const ckks::BootstrapPlan& plan = bootstrapper.plan();
    const ckks::KeyRequest request = plan.key_request();
    std::optional<ckks::EvaluationKeys> keys;
    const Times times = time_runs(options_.bootstrap_repetitions, 0, [&] {
      keys.reset();  // one set of keys in memory
      keys.emplace(generator_.evaluation_keys(request));
    });
    add("bootstrap_keygen", context_.max_level() + 1, times)
        .both("key_bytes", "keys", keys->bytes(), bytes_text(static_cast<double>(keys->bytes())));

    Figures::Row& row = refresh("bootstrap_full", bootstrapper, *keys, context_.slots());
    const auto peak = peak_resident_bytes();
    row.number("log_qp", "log2(QP)", context_.log2_qp(), "%.4g")
        .both("peak_rss_bytes", "peak", peak, bytes_text(static_cast<double>(peak)));
  }

  void sparse_bootstrap() {
    const int n = std::min(kSparseSlots, context_.slots() / 4);
    const ckks::Bootstrapper bootstrapper(context_, encoder_, {static_cast<size_t>(n)});
    const ckks::EvaluationKeys keys = generator_.evaluation_keys(bootstrapper.plan().key_request());
    refresh("bootstrap_sparse", bootstrapper, keys, n).both("slots", "slots", n);
  }

  // Bootstraps of n complex values. The run that is not timed serves a constant, whose error is another.
  Figures::Row& refresh(const char* name, const ckks::Bootstrapper& bootstrapper,
                        const ckks::EvaluationKeys& keys, int n) {
    say(message("timing ", name));
    const ckks::Evaluator evaluator(context_, keys);
    const ckks::Decryptor decryptor(secret_);
    const ckks::Level entry = bootstrapper.plan().entry_level();
    const auto precision_of = [&](const ckks::Ciphertext& x, const std::vector<ckks::Complex>& expected) {
      std::vector<ckks::Complex> z = decryptor.decrypt(x);
      z.resize(expected.size());
      return ckks::precision(z, expected);
    };
    const std::vector<ckks::Complex> random = random_slots(1, n),
                                     constant(static_cast<size_t>(n), ckks::Complex(1, 1));
    const ckks::Precision of_constant =
        precision_of(bootstrapper.apply(evaluator, encrypt(constant, entry)), constant);
    const ckks::Ciphertext in = encrypt(random, entry);
    ckks::Ciphertext out;
    const Times times =
        time_runs(options_.bootstrap_repetitions, 0, [&] { out = bootstrapper.apply(evaluator, in); });
    const ckks::Precision of_random = precision_of(out, random);
    return add(name, out.level() + 1, times)
        .both("usable_levels", "levels", out.level() - entry)
        .number("precision_mean_bits", "mean bits", of_random.mean, "%.4g")
        .number("precision_min_bits", "least bits", std::min(of_random.worst, of_constant.worst), "%.4g")
        .both("key_bytes", "keys", keys.bytes(), bytes_text(static_cast<double>(keys.bytes())));
  }

  const ckks::Context& context_;
  const SuiteOptions& options_;
  ckks::Encoder encoder_;
  ckks::SecretKey secret_;
  ckks::KeyGenerator generator_;
  ckks::SeededEncryptor encryptor_;
  Figures figures_;
};

}  // namespace

Figures ckks_suite(const ckks::Context& context, const SuiteOptions& options) {
  PSM_CHECK(context.can_bootstrap(), context.spec().name);
  PSM_CHECK(options.repetitions >= 1 && options.bootstrap_repetitions >= 1);
  return Suite(context, options).run();
}

size_t ckks_suite_bytes(const ckks::Context& context) {
  const ckks::BootstrapPlan plan(context);
  const program::BootstrapFigures figures = program::figures_of(plan, {});
  const ckks::BootstrapPlan sparse(context,
                                   {static_cast<size_t>(std::min(kSparseSlots, context.slots() / 4))});
  return std::max(plan.key_bytes() + static_cast<size_t>(figures.memory_bytes), sparse.key_bytes()) +
         static_cast<size_t>(figures.scratch_bytes);
}

}  // namespace psm::cmd
