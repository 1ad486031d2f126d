#include "ckks/scheme/server/textbook_key_switch.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

// Chains with one digit and with several, digits as large as P, 32-bit and 50-bit primes, and all bands of
// the chains that bootstrap.
std::vector<ParameterSpec> parameter_sets() {
  ParameterSpec tight = insecure_leveled(10, 5);
  tight.p_count = 1;
  ParameterSpec small = insecure_leveled(10, 6);
  small.log_scale = small.compute_bits = 32;
  small.q0_bits = small.p_bits = 42;
  small.p_count = 2;
  return {insecure_leveled(11, 6), tight, small, insecure_bootstrappable(10),
          insecure_version(secure_n16_dense(), 10)};
}

// The lowest and the highest level of each band, and one in between.
std::set<Level> levels_of(const Context& context) {
  std::set<Level> levels;
  Level lowest = 0;
  for (const Gadget& band : context.chain().bands) {
    levels.insert({lowest, Level::at((lowest + band.top) / 2), band.top});
    lowest = band.top + 1;
  }
  return levels;
}

// The key at the top of a level's band: at the other levels it has limbs and digits too many.
KeySwitchKey key_for(TestParty& party, Level level, GaloisElement g) {
  return party.generator.galois(g, party.context.chain().bands[party.context.band(level)].top);
}

RnsPoly product(const RnsPoly& a, const RnsPoly& b) {
  RnsPoly out(a.ring(), a.basis(), Form::kNtt);
  multiply(out, a, b);
  return out;
}

}  // namespace

TEST_CASE("the fast key switch has the textbook's bits: every set of parameters, band and backend") {
  int compared = 0, several_digits = 0;
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty party(spec);
    const Context& context = party.context;
    const HostEngine fast(context);
    for (const Level level : levels_of(context)) {
      CAPTURE(level);
      const KeySwitchKey key = key_for(party, level, galois_element(context, 3));
      const RnsPoly c = random_poly(context.ring(), {level + 1, 0}, static_cast<uint64_t>(level));
      const std::array<RnsPoly, 2> expected = textbook::switch_key(context, c, key);
      for (const Kernels* backend : available_backends()) {
        CAPTURE(backend->name);
        select_backend(backend->name);
        CHECK(same_bits(fast.switch_key(c, key, {}), expected));
        CHECK(same_bits(fast.switch_key(fast.decompose(c, key.p_count), key, {}), expected));  // hoisted
        ++compared;
      }
      several_digits += context.digit_count(level) > 1 ? 1 : 0;
    }
  }
  MESSAGE(compared, " key switches compared");
  CHECK(several_digits >= 10);
}

TEST_CASE("what the fast key switch merges, an addend, an automorphism, a rescaling, changes no bit") {
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty party(spec);
    const Context& context = party.context;
    const Ring& ring = context.ring();
    const HostEngine fast(context);
    const Converters converters(context);
    for (const Level level : levels_of(context)) {
      if (level == 0) continue;
      CAPTURE(level);
      const GaloisElement g = galois_element(context, 5);
      const KeySwitchKey key = key_for(party, level, g);
      const RnsPoly c = random_poly(ring, {level + 1, 0}, 1);
      const RnsPoly a0 = random_poly(ring, c.basis(), 2), a1 = random_poly(ring, c.basis(), 3);

      // round((P a + x) / P), then X -> X^g.
      std::array<RnsPoly, 2> k = textbook::switch_key(context, c, key);
      add(k[0], k[0], a0);
      add(k[1], k[1], a1);
      CHECK(same_bits(fast.switch_key(c, key, {.addend0 = &a0, .addend1 = &a1, .automorphism = g}),
                      Engine::Pair{automorphism(k[0], g), automorphism(k[1], g)}));

      // round((P a + x) / (P q_l)).
      std::array<RnsPoly, 2> x = textbook::sum_over_digits(context, c, key);
      for (int i : {0, 1}) {
        for (int j = 0; j <= level; ++j) {
          const uint64_t* const a = (i == 0 ? a0 : a1).limb(j);
          kernels().scale_add(x[i].limb(j), a, converters.p_product(j, key.p_count), ring.n(), ring.q(j));
        }
      }
      CHECK(same_bits(fast.switch_key(c, key, {.addend0 = &a0, .addend1 = &a1, .rescale = true}),
                      Engine::Pair{textbook::mod_down(x[0], true), textbook::mod_down(x[1], true)}));
      CHECK(same_bits(fast.divide(x, c.basis()),
                      Engine::Pair{textbook::mod_down(x[0]), textbook::mod_down(x[1])}));
    }
  }
}

TEST_CASE(
    "the key switches around ModRaise, with one special prime and with one digit, have the textbook's bits") {
  TestParty party(insecure_bootstrappable(10));
  const Context& context = party.context;
  const GaloisElement turn = galois_element(context, 3);
  const HostEngine fast(context);
  KeyRequest request;
  for (const Level level : {Level(1), context.max_level()}) request.need_raised(turn, level);
  party.add_keys(request);
  const KeySwitchKey& down = *party.keys.find(context, KeyRole::kToEphemeral, 0, 0);
  CHECK(down.p_count == 1);
  const RnsPoly c = random_poly(context.ring(), {1, 0}, 4);
  CHECK(same_bits(fast.switch_key(c, down, {}), textbook::switch_key(context, c, down)));

  const Evaluator& evaluator = *party.evaluator;
  const Ciphertext low = evaluator.switch_to_ephemeral(party.encrypt(party.random_slots(1), 0));
  RnsPoly digit = low.c[1].clone();
  to_coefficients(digit);
  const Modulus& q = context.ring().q(0);
  for (const Level level : {Level(1), context.max_level()}) {
    CAPTURE(int{level});
    const KeySwitchKey& up = *party.keys.find(context, KeyRole::kFromEphemeral, turn, level);
    RnsPoly d(context.ring(), {level + 1, up.p_count}, Form::kCoefficient);
    for (int j = 0; j < d.limbs(); ++j)
      for (size_t k = 0; k < d.n(); ++k)
        d.limb(j)[k] = reduce_signed(centered(digit.limb(0)[k], q), d.modulus(j));
    to_ntt(d);
    const Ciphertext raised = evaluator.mod_raise(low, level);
    CHECK(same_bits(raised.c[1], d.clone_prefix({level + 1, 0})));
    Engine::Pair expected{textbook::mod_down(product(d, up.digits[0].b.unpack())),
                          textbook::mod_down(product(d, up.digits[0].a.unpack()))};
    add(expected[0], expected[0], raised.c[0]);
    for (RnsPoly& half : expected) half = automorphism(half, turn);
    CHECK(same_bits(evaluator.switch_from_ephemeral(raised, turn).c, expected));
  }
}

TEST_CASE(
    "a digit is the representative nearest to zero, and all of them with their gadget make up the "
    "polynomial") {
  TestParty party(insecure_bootstrappable(10));
  const Context& context = party.context;
  const Level level = context.max_level();
  RnsPoly c = random_poly(context.ring(), {level + 1, 0}, 5);
  to_coefficients(c);
  REQUIRE(context.digit_count(level) > 2);
  for (int i = 0; i < context.digit_count(level); ++i) {
    const RnsPoly d = textbook::mod_up(context, c, i, context.p_count(level));
    const DigitRange primes = context.digit(i, level);
    for (int j = primes.begin; j < primes.end; ++j) {
      CHECK(std::equal(d.limb(j), d.limb(j) + d.n(), c.limb(j)));  // sum_i d_i g_i = c, prime by prime
    }
  }
  // One digit of one prime: the integer itself can be looked at.
  RnsPoly one(context.ring(), {1, 0}, Form::kCoefficient);
  const Modulus &q = context.ring().q(0), &p = context.ring().p(0);
  const std::vector<uint64_t> values{0, 1, q.value / 2, q.value / 2 + 1, q.value - 1};
  std::fill(one.limb(0), one.limb(0) + one.n(), 0);
  std::copy(values.begin(), values.end(), one.limb(0));
  const RnsPoly lifted = textbook::mod_up(context, one, 0, 1);
  const std::vector<int64_t> integers{0, 1, static_cast<int64_t>(q.value / 2),
                                      -static_cast<int64_t>(q.value / 2), -1};
  for (size_t k = 0; k < integers.size(); ++k) CHECK(lifted.limb(1)[k] == reduce_signed(integers[k], p));
}

TEST_CASE("after a switch from s' to s, k_0 + k_1 s is c s' but for an error of a few bits") {
  TestParty party(insecure_bootstrappable(10));
  const Context& context = party.context;
  for (const Level level : {Level(0), Level(9), context.max_level()}) {
    CAPTURE(level);
    // The key for g switches from s to sigma_g^{-1}(s).
    const GaloisElement g = galois_element(context, 1);
    const Basis basis{level + 1, 0};
    const RnsPoly s = party.secret.poly().clone_prefix(basis);
    const RnsPoly to = automorphism(s, inverse_element(g, context.log_n()));
    const RnsPoly c = random_poly(context.ring(), basis, 6);
    std::array<RnsPoly, 2> k = textbook::switch_key(context, c, key_for(party, level, g));
    multiply_add(k[0], k[1], to);
    subtract(k[0], k[0], product(c, s));
    to_coefficients(k[0]);
    double largest = 0;
    for (size_t i = 0; i < k[0].n(); ++i) {
      largest =
          std::max(largest, std::abs(static_cast<double>(centered(k[0].limb(0)[i], context.ring().q(0)))));
    }
    CHECK(largest > 0);
    CHECK(largest < 64);  // rounding: a deviation of sqrt((1 + h) / 12) = 4
  }
}

}  // namespace psm::ckks
