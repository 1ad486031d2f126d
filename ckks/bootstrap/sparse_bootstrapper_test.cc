#include "ckks/base/error.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"

namespace psm::ckks {
namespace {

using Recombine = BootstrapPlan::Recombine;

// What is asked for below, less than chance leaves (the first case).
constexpr Precision kLeast{19, 18};

TEST_CASE("chance leaves four values more bits than are asked for below") {
  const Context context(insecure_bootstrappable(10));
  const Precision least = least_precision(BootstrapPlan(context), 4, context.slots());
  CHECK(least.mean > kLeast.mean);
  CHECK(least.worst > kLeast.worst);
}

TEST_CASE("n uniform complex values come back in every repetition, for n from 4 to N/4") {
  for (const size_t slots : {4, 16, 32, 256}) {
    CAPTURE(slots);
    TestBootstrap m(insecure_bootstrappable(10), {slots});
    const BootstrapPlan& plan = m.bootstrapper.plan();
    const std::vector<Complex> z = m.random_slots(1, slots);
    const Ciphertext out = m.bootstrapped(z);
    CHECK(out.level() == plan.output_level());
    CHECK(out.scale() == m.context.scale(plan.output_level()));
    m.check(out, z, kLeast);
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
    m.check(*out, out == &parts[1] ? im : re, kLeast);
  }
}

// Real values, equal in blocks.
std::vector<Complex> in_blocks(const BootstrapKind& kind, int seed) {
  std::vector<Complex> z(kind.period);
  const std::vector<Complex> values = random_slots(seed, kind.blocks());
  for (size_t s = 0; s < z.size(); ++s) z[s] = values[s / kind.block].real();
  return z;
}

TEST_CASE("real values in blocks come back in theirs, a level higher, in periods up to all slots") {
  for (const BootstrapKind kind : {BootstrapKind{16, 2}, {64, 8}, {256, 32}, {128, 8}, {512, 64}, {512, 8}}) {
    CAPTURE(kind.text());
    TestBootstrap m(insecure_bootstrappable(10), kind);
    const std::vector<Complex> z = in_blocks(kind, 1);
    const Ciphertext out = m.bootstrapped(z);
    CHECK(m.bootstrapper.plan().entry_level() == 1);
    CHECK(out.level() == m.context.compute_level());
    CHECK(out.scale() == m.context.scale(out.level()));
    m.check(out, z, kLeast);
    // Again, from the level where the first ended.
    CHECK(m.precision_of(m.bootstrapper.apply(*m.evaluator, out), z).mean > 18.5);
  }
}

TEST_CASE(
    "constants come back from a sparse bootstrap and from one of blocks, the ends of the range included") {
  TestBootstrap sparse(insecure_bootstrappable(11), {64}), blocks(insecure_bootstrappable(10), {64, 8});
  for (const Complex value : {Complex(0), Complex(1, 1), Complex(-1, 0.5), Complex(0.3, -0.7)}) {
    const std::vector<Complex> z(64, value), re(64, value.real());
    sparse.check(sparse.bootstrapped(z), z, kLeast);
    blocks.check(blocks.bootstrapped(re), re, kLeast);
  }
}

TEST_CASE("of slots without the period their mean over the repetitions comes out") {
  TestBootstrap m(insecure_bootstrappable(10), {32});
  const std::vector<Complex> z = m.random_slots(3);
  std::vector<Complex> mean(32);
  for (size_t j = 0; j < z.size(); ++j) mean[j % 32] += z[j] * 32.0 / static_cast<double>(z.size());
  CHECK(m.precision_of(m.bootstrapped(z), mean).mean > 18);
}

TEST_CASE("sparse bootstraps of impossible sizes and levels are refused") {
  const Context context(insecure_bootstrappable(10));
  for (const size_t slots : {1, 2, 3, 48, 512}) CHECK_THROWS_AS(BootstrapPlan(context, {slots}), Error);
  for (const BootstrapKind kind : {BootstrapKind{0, 8}, {64, 16}, {256, 2}, {96, 12}, {1024, 16}})
    CHECK_THROWS_AS(BootstrapPlan(context, kind), Error);
  CHECK_THROWS_AS(BootstrapPlan(Context(insecure_leveled(10, 4)), {16}), Error);
}

TEST_CASE(
    "the sparse plan of the default parameters: twelve levels, no overflow, half the work of the full one") {
  const Context context(secure_n16());
  const BootstrapPlan plan(context, {1 << 10});
  CHECK(plan.entry_level() == 2);
  CHECK(plan.output_level() - plan.entry_level() == 12);
  CHECK(plan.raised_level() == context.max_level() - 1);
  CHECK(plan.log2_rare_multiple() == doctest::Approx(-22.04 - 5).epsilon(1e-3));  // 2^11 of 2^16
  CHECK(plan.key_bytes() < size_t{6} << 30);
}

TEST_CASE("eight blocks at the default parameters: fourteen levels and twelve diagonals") {
  const Context context(secure_n16());
  const BootstrapPlan blocks(context, {256, 32}), slots(context, {256});
  CHECK(blocks.slots() == 4);
  CHECK(blocks.output_level() - blocks.entry_level() == 14);
  CHECK(blocks.raised_level() == slots.raised_level());
  CHECK(blocks.pre_rotation() == 0);
}

TEST_CASE("up to 2^8 slots come to coefficients in one level") {
  const Context context(secure_n16());
  for (const auto& [slots, levels] :
       {std::pair(size_t{1} << 14, 12), {size_t{1} << 9, 12}, {size_t{1} << 8, 13}, {size_t{1} << 4, 13}}) {
    CAPTURE(slots);
    const BootstrapPlan plan(context, {slots});
    CHECK(plan.output_level() - plan.entry_level() == levels);
  }
}

}  // namespace
}  // namespace psm::ckks
