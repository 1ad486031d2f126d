#include "ckks/program/planner/parameter_search.h"

#include <cmath>
#include <string>

#include "ckks/base/error.h"
#include "ckks/base/testing/text.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/program/planning/scheme_figures.h"
#include "ckks/scheme/chain/security.h"
#include "ckks/scheme/client/decryptor.h"
#include "ckks/scheme/client/key_generator.h"
#include "ckks/scheme/client/seeded_encryptor.h"
#include "doctest/doctest.h"

namespace psm::program {
namespace {

const ParameterWish kWish{.proposals = 2};  // 13 levels, scale 2^40, 19 bits
const KernelSeconds kNominal;

const ParameterSearch& found(int weight) {
  static const ParameterSearch sparse = search_parameters(kWish, 192, kNominal),
                               dense = search_parameters(kWish, 0, kNominal);
  return weight == 0 ? dense : sparse;
}

std::string refusal(const ParameterWish& wish, int weight) {
  try {
    search_parameters(wish, weight, kNominal);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("proposals of both secrets keep the bounds, the levels and the precision, and plan a bootstrap") {
  for (const int weight : {192, 0}) {
    CAPTURE(weight);
    const ParameterSearch& search = found(weight);
    CHECK(search.bound == ckks::max_log2_modulus(16, ckks::secret_kind(weight)));
    CHECK(search.beyond_bound > 0);
    CHECK(search.considered > search.beyond_bound);
    REQUIRE(search.proposals.size() == kWish.proposals);
    double before = 0;
    for (const ParameterProposal& p : search.proposals) {
      CAPTURE(p.spec.name);
      CHECK(p.spec.secret_hamming_weight == weight);
      CHECK_FALSE(p.spec.insecure);
      const ckks::Context context(p.spec);  // throws beyond a bound
      const ckks::BootstrapPlan plan(context);
      CHECK(context.log2_qp() <= search.bound);
      CHECK(plan.output_level() - plan.entry_level() >= kWish.levels);
      CHECK(context.scale(plan.output_level()) == std::exp2(kWish.log_scale));
      CHECK(p.rare.log2_probability == doctest::Approx(-22.04).epsilon(1e-3));
      CHECK(p.error.mean_bits >= kWish.precision_bits);
      CHECK(p.error.worst_bits >= kWish.worst_bits);
      CHECK(p.key_bytes == plan.key_bytes());
      CHECK(p.seconds == doctest::Approx(figures_of(plan, kNominal).seconds));
      CHECK(p.seconds_a_level() >= before);
      CHECK(p.why.size() >= 4);
      before = p.seconds_a_level();
    }
  }
}

TEST_CASE("the shipped sets are proposed, or are predicted to be slower a level than what is") {
  for (const ckks::ParameterSpec& shipped : {ckks::secure_n16(), ckks::secure_n16_dense()}) {
    const ckks::Context context(shipped);
    const ckks::BootstrapPlan plan(context);
    const double a_level = figures_of(plan, kNominal).seconds / shipped.compute_levels;
    CHECK(found(shipped.secret_hamming_weight).proposals.front().seconds_a_level() <= a_level);
    CHECK(ckks::predict_error(plan).mean_bits >=
          kWish.precision_bits);  // so that it was among those considered
  }
}

TEST_CASE("a plan in another chain has the figures of the plan made for that chain") {
  ckks::ParameterSpec short_chain = ckks::secure_n16();
  short_chain.compute_levels = 3, short_chain.p_count = 1;
  const ckks::Context small(short_chain), context(ckks::secure_n16_dense());
  const ckks::BootstrapPlan reference(small), plan(context);
  const BootstrapFigures moved = figures_of(reference, context.chain(), kNominal),
                         own = figures_of(plan, kNominal);
  CHECK(moved.effort.counts == own.effort.counts);
  CHECK(moved.seconds == doctest::Approx(own.seconds));
  CHECK(moved.keys.bytes(context.chain()) == own.keys.bytes(context.chain()));
  CHECK(moved.memory_bytes == own.memory_bytes);
  CHECK(own.keys.bytes(context.chain()) == plan.key_bytes());
}

TEST_CASE("a proposed chain, in a small ring, bootstraps with the precision that is predicted for it there") {
  for (const int weight : {192, 0}) {
    const ckks::Context context(ckks::insecure_version(found(weight).proposals.front().spec, 10));
    const ckks::Encoder encoder(context);
    const ckks::SecretKey secret = ckks::SecretKey::generate(context);
    const ckks::Bootstrapper bootstrapper(context, encoder);
    const ckks::EvaluationKeys keys =
        ckks::KeyGenerator(secret).evaluation_keys(bootstrapper.plan().key_request());
    const ckks::Evaluator evaluator(context, keys);
    const std::vector<ckks::Complex> z = ckks::uniform_vector(context.slots(), 1);
    const ckks::Ciphertext in =
        ckks::expand(ckks::SeededEncryptor(secret).encrypt(encoder.encode(z, context.entry_level())));
    const ckks::Ciphertext out = bootstrapper.apply(evaluator, in);
    CHECK(out.level() - context.entry_level() >= kWish.levels);
    const ckks::Precision measured = ckks::precision(ckks::Decryptor(secret, encoder).decrypt(out), z);
    const ckks::BootstrapError predicted = ckks::predict_error(bootstrapper.plan());
    MESSAGE(context.spec().name, ": mean ", measured.mean, " bits, predicted ", predicted.mean_bits,
            "; worst ", measured.worst, ", predicted ", predicted.worst_bits);
    CHECK(std::abs(measured.mean - predicted.mean_bits) < ckks::mean_tolerance_bits(context.slots()));
    CHECK(measured.worst > ckks::least_precision(bootstrapper.plan(), 1, context.slots()).worst);
    CHECK(measured.worst < predicted.worst_bits + 1.5);
  }
}

TEST_CASE("where nothing fits, the bound that is broken is named") {
  const std::string levels = refusal({.levels = 24}, 192);
  CHECK(contains(levels, "24 levels"));
  CHECK(contains(levels, "beyond the 1555 bits"));
  CHECK(contains(levels, "the PowerSoftmax paper's set"));
  CHECK(contains(refusal({.levels = 32}, 0), "beyond the 1747 bits"));
  CHECK(contains(refusal({.precision_bits = 22}, 192), "the sine of EvalMod leaves 20"));
  CHECK(contains(refusal({.log_scale = 49}, 192), "the sine of EvalMod leaves 0"));
  CHECK(contains(refusal({.precision_bits = 19.8}, 0), "rounding at scale 2^40"));
  CHECK(contains(refusal({.security_bits = 192}, 192), "for 192 bits; there is 128"));
  CHECK(contains(refusal({.levels = 0}, 192), "at least one level"));
}

}  // namespace psm::program
