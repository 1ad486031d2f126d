#include "ckks/bootstrap/bootstrapper.h"

#include <cmath>

#include "ckks/base/testing/check.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"

namespace psm::ckks {
namespace {

using Fixture = TestBootstrap;
using Recombine = BootstrapPlan::Recombine;

// Made once.
Fixture& fixture() {
  static Fixture instance(insecure_bootstrappable(10));
  return instance;
}

// The bits that chance leaves of any values in [-1, 1] + i [-1, 1].
const Precision& least() {
  const size_t slots = fixture().context.slots();
  static const Precision instance = least_precision(fixture().bootstrapper.plan(), slots, slots);
  return instance;
}

// The bits asked for of a sparse bootstrap and of one of blocks, less than chance leaves (the first case).
constexpr Precision kLeastSparse{19, 18};

// Zero and the ends of the range.
const Complex kConstants[] = {0, {1, 1}, {-1, 0.5}, {0.3, -0.7}};

TEST_CASE("chance leaves all slots as many bits, and four values more than are asked for below") {
  CHECK(least().mean > 21);
  CHECK(least().worst > 19.4);
  const Precision four = least_precision(fixture().bootstrapper.plan(), 4, fixture().context.slots());
  CHECK(four.mean > kLeastSparse.mean);
  CHECK(four.worst > kLeastSparse.worst);
}

TEST_CASE(
    "uniform complex slots and constants come back from the entry level to the compute level with their "
    "precision") {
  Fixture& f = fixture();
  std::vector<std::vector<Complex>> vectors{f.random_slots(1)};
  for (const Complex value : kConstants) vectors.emplace_back(f.context.slots(), value);
  for (const std::vector<Complex>& z : vectors) {
    CAPTURE(z[0].real());
    CAPTURE(z[0].imag());
    const Ciphertext out = f.bootstrapped(z);
    CHECK(out.level() == f.context.compute_level());
    CHECK(out.scale() == f.context.scale(f.context.compute_level()));
    f.check(out, z, least());
  }
}

TEST_CASE(
    "n uniform complex values come back in every repetition, for n from 4 to N/4, and real ones in their "
    "blocks, a level higher") {
  for (const BootstrapKind kind :
       {BootstrapKind{4}, {16}, {32}, {256}, {16, 2}, {64, 8}, {256, 32}, {128, 8}, {512, 64}, {512, 8}}) {
    CAPTURE(kind.text());
    TestBootstrap m(insecure_bootstrappable(10), kind);
    const BootstrapPlan& plan = m.bootstrapper.plan();
    const std::vector<Complex> z = values_of(kind, 1);
    const Ciphertext out = m.bootstrapped(z);
    CHECK(out.level() == plan.output_level());
    CHECK(out.scale() == m.context.scale(out.level()));
    m.check(out, z, kLeastSparse);
    if (!kind.of_blocks()) continue;
    CHECK(plan.entry_level() == 1);
    CHECK(plan.output_level() == m.context.compute_level());
    // Again, from the level where the first ended.
    CHECK(m.precision_of(m.bootstrapper.apply(*m.evaluator, out), z).mean > 18.5);
  }
}

TEST_CASE("two real vectors come back apart, and of real slots the real part alone") {
  TestBootstrap m(insecure_bootstrappable(10), {32});
  const std::vector<Complex> z = m.random_slots(5, 32);
  std::vector<Complex> re, im;
  for (const Complex& value : z) re.push_back(value.real()), im.push_back(value.imag());
  const Ciphertext in = m.encrypt(z, m.bootstrapper.plan().entry_level());
  const std::vector<Ciphertext> parts = m.bootstrapper.apply(*m.evaluator, in, Recombine::kParts),
                                real = m.bootstrapper.apply(*m.evaluator, in, Recombine::kReal);
  for (const Ciphertext* out : {&parts[0], &parts[1], &real[0]}) {
    CHECK(out->level() == m.bootstrapper.plan().output_level());
    CHECK(out->scale() == m.context.scale(out->level()));
    m.check(*out, out == &parts[1] ? im : re, kLeastSparse);
  }
}

TEST_CASE(
    "constants come back from a sparse bootstrap and from one of blocks, the ends of the range included") {
  TestBootstrap sparse(insecure_bootstrappable(11), {64}), blocks(insecure_bootstrappable(10), {64, 8});
  for (const Complex value : kConstants) {
    const std::vector<Complex> z(64, value), re(64, value.real());
    sparse.check(sparse.bootstrapped(z), z, kLeastSparse);
    blocks.check(blocks.bootstrapped(re), re, kLeastSparse);
  }
}

TEST_CASE("of slots without the period their mean over the repetitions comes out") {
  TestBootstrap m(insecure_bootstrappable(10), {32});
  const std::vector<Complex> z = m.random_slots(3);
  std::vector<Complex> mean(32);
  for (size_t j = 0; j < z.size(); ++j) mean[j % 32] += z[j] * 32.0 / static_cast<double>(z.size());
  CHECK(m.precision_of(m.bootstrapped(z), mean).mean > 18);
}

TEST_CASE(
    "an input above the entry level serves, and so does a result; below it or without keys is refused") {
  const auto check = [](TestBootstrap& f, double bits) {
    const BootstrapPlan& plan = f.bootstrapper.plan();
    const std::vector<Complex> z = f.random_slots(2, plan.slots());
    const auto apply = [&](const Evaluator& evaluator, Level level) {
      return f.bootstrapper.apply(evaluator, f.encrypt(z, level));
    };
    const Ciphertext once = apply(*f.evaluator, f.context.compute_level());
    CHECK(f.precision_of(f.bootstrapper.apply(*f.evaluator, once), z).mean > bits);  // twice the error
    CHECK_THROWS_AS(apply(*f.evaluator, plan.entry_level() - 1), Error);
    EvaluationKeys none;
    none.fingerprint = f.keys.fingerprint;
    CHECK_THROWS_AS(apply(Evaluator(f.context, none), 3), Error);
  };
  check(fixture(), least().mean - 1);
  TestBootstrap sparse(insecure_bootstrappable(10), {32});
  check(sparse, 18.5);
}

TEST_CASE("beyond the range [-1, 1] the error grows like the cube") {
  Fixture& f = fixture();
  const std::vector<Complex> z(f.context.slots(), Complex(4, 0));
  const std::vector<Complex> out = f.decrypt(f.bootstrapped(z));
  // gain sin(2 pi 4 / R) / (2 pi) - 4 = (3/4 4 - 4^3) (2 pi / R)^2 / 6, nearly.
  const double ratio = f.bootstrapper.plan().eval_mod().polynomial().message_ratio();
  const double expected = (3.0 - 64.0) * std::pow(2 * M_PI / ratio, 2) / 6;
  // The fifth power is left out, 2^-30, and rounding, which leaves 19 bits but once in a million.
  for (const Complex& value : out) CHECK(std::abs(value.real() - 4 - expected) < 0x1p-16);
}

TEST_CASE("parameters without bootstrapping levels are refused") {
  const Context leveled(insecure_leveled(10, 4));
  CHECK_THROWS_AS(BootstrapPlan{leveled}, Error);
}

TEST_CASE("shapes that no bootstrap fits are refused: parameters may come from a file") {
  const auto refused = [](auto&& change) {
    ParameterSpec spec = insecure_bootstrappable(8);
    change(spec);
    const Context context(spec);
    CHECK_THROWS_AS(BootstrapPlan{context}, Error);
  };
  refused([](ParameterSpec& s) { s.stc_levels = 0; });
  refused([](ParameterSpec& s) { s.stc_levels = 8; });
  refused([](ParameterSpec& s) { s.cts_levels = 8; });
  refused([](ParameterSpec& s) { s.stc_levels = 1; });  // 2^8 - 1 diagonals here, 2^16 - 1 at N = 2^16
  refused([](ParameterSpec& s) { s.cts_levels = 1; });
  refused([](ParameterSpec& s) { s.evalmod_levels = 7; });
  refused([](ParameterSpec& s) { s.q0_bits = 41; });
  for (const int weight : {1, 31, 33, 64, 1024}) {  // other multiples of q_0 than EvalMod is fitted for
    ParameterSpec spec = insecure_bootstrappable(10);
    spec.encapsulation_hamming_weight = weight;
    const Context context(spec);
    CHECK_REFUSED(BootstrapPlan{context}, "EvalMod is fitted for 32");
  }
}

TEST_CASE("sparse bootstraps of impossible sizes and levels are refused") {
  const Context context(insecure_bootstrappable(10));
  for (const size_t slots : {1, 2, 3, 48, 512}) CHECK_THROWS_AS(BootstrapPlan(context, {slots}), Error);
  for (const BootstrapKind kind : {BootstrapKind{0, 8}, {64, 16}, {256, 2}, {96, 12}, {1024, 16}})
    CHECK_THROWS_AS(BootstrapPlan(context, kind), Error);
  CHECK_THROWS_AS(BootstrapPlan(Context(insecure_leveled(10, 4)), {16}), Error);
}

TEST_CASE(
    "the plans of the default parameters are known without keys: few keys, so many levels, no overflow") {
  const Context context(secure_n16());
  BootstrapPlans plans;
  const struct {
    BootstrapKind kind;
    int levels;
  } rows[] = {{{}, 13},       {{1 << 14}, 12}, {{1 << 10}, 12}, {{1 << 9}, 12},
              {{1 << 8}, 13}, {{1 << 4}, 13},  {{256, 32}, 14}};
  for (const auto& [kind, levels] : rows) {
    CAPTURE(kind.text());
    const BootstrapPlan& plan = plans.try_emplace(kind, context, kind).first->second;
    CHECK(plan.output_level() - plan.entry_level() == levels);
    CHECK(plan.key_bytes() < size_t{6} << 30);
  }
  CHECK(plans.at({}).log2_rare_multiple() == doctest::Approx(-22.04).epsilon(1e-3));
  const BootstrapPlan& sparse = plans.at({1 << 10});
  CHECK(sparse.log2_rare_multiple() == doctest::Approx(-22.04 - 5).epsilon(1e-3));  // 2^11 of 2^16
  CHECK(sparse.entry_level() == 2);
  CHECK(sparse.raised_level() == context.max_level() - 1);
  const BootstrapPlan& blocks = plans.at({256, 32});
  CHECK(blocks.slots() == 4);
  CHECK(blocks.raised_level() == plans.at({256}).raised_level());
  CHECK(blocks.pre_rotation() == 0);
}

}  // namespace
}  // namespace psm::ckks
