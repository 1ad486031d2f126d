#include "ckks/bootstrap/bootstrapper.h"

#include <cmath>

#include "ckks/base/testing/check.h"
#include "ckks/bootstrap/testing/least_precision.h"
#include "ckks/bootstrap/testing/test_bootstrap.h"

namespace psm::ckks {
namespace {

using Fixture = TestBootstrap;

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

TEST_CASE("bootstrapping brings uniform complex slots from the entry level back to the compute level") {
  Fixture& f = fixture();
  const std::vector<Complex> z = f.random_slots(1);
  const Ciphertext out = f.bootstrapped(z);
  CHECK(out.level() == f.context.compute_level());
  CHECK(out.scale() == f.context.scale(f.context.compute_level()));
  f.check(out, z, least());
  CHECK(least().mean > 21);
  CHECK(least().worst > 19.4);
}

TEST_CASE("constant vectors keep their precision, zero and the ends of the range included") {
  Fixture& f = fixture();
  for (const Complex value : {Complex(0), Complex(1, 1), Complex(-1, 0.5), Complex(0.3, -0.7)}) {
    CAPTURE(value.real());
    CAPTURE(value.imag());
    const std::vector<Complex> z(f.context.slots(), value);
    f.check(f.bootstrapped(z), z, least());
  }
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

TEST_CASE(
    "the plan of the default parameters is known without keys: few keys, no overflow, thirteen levels") {
  const Context context(secure_n16());
  const BootstrapPlan plan(context);
  CHECK(plan.output_level() - plan.entry_level() == 13);
  CHECK(plan.log2_rare_multiple() == doctest::Approx(-22.04).epsilon(1e-3));
  CHECK(plan.key_bytes() < size_t{6} << 30);
}

}  // namespace
}  // namespace psm::ckks
