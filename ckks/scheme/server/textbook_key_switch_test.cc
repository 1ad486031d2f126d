#include "ckks/scheme/server/textbook_key_switch.h"

#include <vector>

#include "ckks/engine/host_engine.h"
#include "ckks/ring/kernels/backend.h"
#include "ckks/scheme/testing/test_party.h"
#include "doctest/doctest.h"

namespace psm::ckks {
namespace {

std::vector<ParameterSpec> parameter_sets() {
  std::vector<ParameterSpec> sets = small_sets();
  sets.push_back(insecure_version(secure_n16_dense(), 10));
  return sets;
}

// The key at the top of a level's band: at the other levels it has limbs and digits too many.
KeySwitchKey key_for(TestParty& party, Level level, GaloisElement g) {
  return party.generator.galois(g, party.context.chain().bands[party.context.band(level)].top);
}

}  // namespace

TEST_CASE("the fast key switch has the textbook's bits: every set of parameters, band and backend") {
  int several_digits = 0;
  for (const ParameterSpec& spec : parameter_sets()) {
    CAPTURE(spec.name);
    TestParty party(spec);
    const Context& context = party.context;
    const HostEngine fast(context);
    for (const Level level : levels_of_bands(context)) {
      CAPTURE(level);
      const KeySwitchKey key = key_for(party, level, galois_element(context, 3));
      const RnsPoly c = random_poly(context.ring(), {level + 1, 0}, static_cast<uint64_t>(level));
      const std::array<RnsPoly, 2> expected = textbook::switch_key(context, c, key);
      for (const Kernels* backend : available_backends()) {
        CAPTURE(backend->name);
        select_backend(backend->name);
        CHECK(same_bits(fast.switch_key(c, key, {}), expected));
        CHECK(
            same_bits(fast.switch_key(fast.decompose(c, key.p_count, false), key, {}), expected));  // hoisted
      }
      several_digits += context.digit_count(level) > 1 ? 1 : 0;
    }
  }
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
    for (const Level level : levels_of_bands(context)) {
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

}  // namespace psm::ckks
