#include "cmd/timing/bench_suite.h"

#include <algorithm>
#include <optional>

#include "ckks/base/error.h"
#include "ckks/base/memory.h"
#include "ckks/base/parallel.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/precision.h"
#include "ckks/program/planning/calibrate.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/encryptor.h"
#include "ckks/scheme/client/key_generator.h"

namespace psm::cmd {
namespace {

using program::EffortSum;
using program::Work;
using program::WorkKind;

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

  BenchFigures run() {
    kernels_ = program::calibrate(context_).kernels;
    transforms();
    operations();
    bootstrap();
    sparse_bootstrap();
    return std::move(figures_);
  }

 private:
  void add(const char* name, int limbs, Times times, const Work& work) {
    const double median = 1e3 * times.median, kernels = 1e3 * kernels_.of(work);
    row_name_ = message(name, ", ", limbs, " limbs");
    row_ = &figures_.operations.row()
                .both("name", "operation", name)
                .both("limbs", "limbs", limbs)
                .both("threads", "threads", thread_count())
                .json("backend", ckks::kernels().name)
                .number("median_ms", "median ms", median, "%.4g")
                .number("min_ms", "min ms", 1e3 * times.least, "%.4g")
                .number("kernels_ms", "kernels ms", kernels, "%.4g")
                .cell("of kernels", format("%.2fx", median / kernels));
  }

  // What only the last row has.
  void more(const char* figure, double value) {
    row_->json(figure, value);
    detail(figure, format("%.4g", value));
  }
  void more_bytes(const char* figure, size_t bytes) {
    row_->json(figure, bytes);
    detail(figure, bytes_text(static_cast<double>(bytes)));
  }
  void detail(const char* figure, const std::string& text) {
    figures_.details.row().cell("operation", row_name_).cell("figure", figure).cell("value", text);
  }

  template <typename Body>
  void time(const char* name, int limbs, const Work& work, const Body& body) {
    starting(name);
    add(name, limbs, measure(options_.repetitions, body), work);
  }

  void starting(const char* name) const { options_.starting(message("timing ", name)); }

  ckks::Ciphertext encrypt(const std::vector<ckks::Complex>& values, ckks::Level level) {
    return ckks::expand(encryptor_.encrypt(encoder_.encode(values, level)));
  }

  Work of_rotations(ckks::Level level, int64_t count) const {
    EffortSum sum(context_.chain());
    sum.rotate(level, count);
    return sum.effort.work;
  }

  void transforms() {
    const int threads = thread_count();
    const program::KernelSeconds all = kernels_;
    set_thread_count(1);
    kernels_ = program::calibrate(context_).kernels;
    const ckks::Ring& ring = context_.ring();
    Buffer limb(ring.n());
    for (size_t i = 0; i < limb.size(); ++i) limb[i] = ring.q(0).value - 1 - i;
    Work work;
    work[WorkKind::kNtt] = 1;
    time("ntt_forward", 1, work, [&] { ckks::kernels().ntt_forward(limb.data(), limb.data(), ring.ntt(0)); });
    time("ntt_inverse", 1, work, [&] { ckks::kernels().ntt_inverse(limb.data(), limb.data(), ring.ntt(0)); });
    set_thread_count(threads);
    kernels_ = all;
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
    const std::vector<ckks::Complex> x = ckks::uniform_vector(context_.slots(), 1);

    Work encoding;
    encoding[WorkKind::kNtt] = kFew;
    time("encode", kFew, encoding, [&] { encoder_.encode(x, kFew - 1); });

    for (const int limbs : {kFew, kMany}) {
      const ckks::Level level = ckks::level_of({limbs, 0});
      const ckks::Ciphertext a = encrypt(x, level);
      time("rotate", limbs, of_rotations(level, 1), [&] { evaluator.rotate(a, 1); });
    }
    const ckks::Ciphertext a = encrypt(x, kMany - 1);
    {
      // What a second rotation of the same ciphertext adds.
      const Work both = of_rotations(kMany - 1, 2), single = of_rotations(kMany - 1, 1);
      Work further;
      for (size_t i = 0; i < program::kWorkKindCount; ++i) further.limbs[i] = both.limbs[i] - single.limbs[i];
      const ckks::Hoisted hoisted = evaluator.hoist(a);
      time("rotate_hoisted", kMany, further, [&] { evaluator.apply_galois(hoisted, g); });
    }
    for (const int limbs : {kFew, kMany}) {
      const ckks::Level level = ckks::level_of({limbs, 0});
      const ckks::Ciphertext b = encrypt(x, level), c = encrypt(x, level);
      // A relinearisation is a rotation's key switch, after a tensor product.
      Work work = of_rotations(level, 1);
      work[WorkKind::kPermute] = 0;
      work[WorkKind::kTensor] += limbs;
      time("multiply_relinearise", limbs, work, [&] { evaluator.multiply(b, c); });
    }
    const ckks::Plaintext plain = encoder_.encode(x, kMany - 1);
    EffortSum product(context_.chain()), rescaling(context_.chain());
    product.multiply_plain(kMany - 1, x.size(), x.size());
    time("multiply_plain", kMany, product.effort.work, [&] { evaluator.multiply_plain(a, plain); });
    rescaling.rescale(kMany - 1);
    time("rescale", kMany, rescaling.effort.work, [&] { evaluator.rescale(a); });
  }

  void bootstrap() {
    starting("bootstrap_keygen");
    const ckks::Bootstrapper bootstrapper(context_, encoder_);
    const ckks::BootstrapPlan& plan = bootstrapper.plan();
    const ckks::KeyRequest request = plan.key_request();
    std::optional<ckks::EvaluationKeys> keys;
    const Times times = time_runs(options_.bootstrap_repetitions, 0, [&] {
      keys.reset();  // one set of keys in memory
      keys.emplace(generator_.evaluation_keys(request));
    });
    Work making;  // b = -a s + e + ...: a transform of e and a product for each limb of b
    making[WorkKind::kNtt] = making[WorkKind::kMultiply] =
        static_cast<double>(keys->bytes()) / (2.0 * static_cast<double>(context_.chain().limb_bytes()));
    add("bootstrap_keygen", context_.max_level() + 1, times, making);
    more_bytes("key_bytes", keys->bytes());

    refresh("bootstrap_full", bootstrapper, *keys, context_.slots());
    more("log_qp", context_.log2_qp());
    more_bytes("peak_rss_bytes", static_cast<size_t>(peak_resident_bytes()));
  }

  void sparse_bootstrap() {
    const int n = std::min(kSparseSlots, context_.slots() / 4);
    const ckks::Bootstrapper bootstrapper(context_, encoder_, {static_cast<size_t>(n)});
    const ckks::EvaluationKeys keys = generator_.evaluation_keys(bootstrapper.plan().key_request());
    refresh("bootstrap_sparse", bootstrapper, keys, n);
    more("slots", n);
  }

  // Bootstraps of n complex values. The run that is not timed serves a constant, whose error is another.
  void refresh(const char* name, const ckks::Bootstrapper& bootstrapper, const ckks::EvaluationKeys& keys,
               int n) {
    starting(name);
    const ckks::Evaluator evaluator(context_, keys);
    const ckks::Decryptor decryptor(secret_);
    const ckks::Level entry = bootstrapper.plan().entry_level();
    const auto precision_of = [&](const ckks::Ciphertext& x, const std::vector<ckks::Complex>& expected) {
      std::vector<ckks::Complex> z = decryptor.decrypt(x);
      z.resize(expected.size());
      return ckks::precision(z, expected);
    };
    const std::vector<ckks::Complex> random = ckks::uniform_vector(n, 1),
                                     constant(static_cast<size_t>(n), ckks::Complex(1, 1));
    const ckks::Precision of_constant =
        precision_of(bootstrapper.apply(evaluator, encrypt(constant, entry)), constant);
    const ckks::Ciphertext in = encrypt(random, entry);
    ckks::Ciphertext out;
    const Times times =
        time_runs(options_.bootstrap_repetitions, 0, [&] { out = bootstrapper.apply(evaluator, in); });
    const ckks::Precision of_random = precision_of(out, random);
    add(name, out.level() + 1, times, program::figures_of(bootstrapper.plan(), {}).effort.work);
    more("usable_levels", out.level() - entry);
    more("precision_mean_bits", of_random.mean);
    more("precision_min_bits", std::min(of_random.worst, of_constant.worst));
    more_bytes("key_bytes", keys.bytes());
  }

  const ckks::Context& context_;
  const SuiteOptions& options_;
  ckks::Encoder encoder_;
  ckks::SecretKey secret_;
  ckks::KeyGenerator generator_;
  ckks::SeededEncryptor encryptor_;
  program::KernelSeconds kernels_;
  BenchFigures figures_;
  Figures::Row* row_ = nullptr;  // the last one
  std::string row_name_;
};

}  // namespace

BenchFigures ckks_suite(const ckks::Context& context, const SuiteOptions& options) {
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
