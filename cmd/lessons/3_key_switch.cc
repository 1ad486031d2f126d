// Lesson 3. Key switching by the textbook, and by the fast code that must have the
// same bits: it brings a rotated ciphertext back to the secret that it came from.
#include <algorithm>

#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/server/textbook_key_switch.h"
#include "ckks/scheme/testing/test_party.h"
#include "cmd/lessons/blackboard.h"

using namespace psm::lesson;

// X -> X^g turns a ciphertext under s~ into one under s, if s~(X^g) = s(X). So the
// key switch comes first, from s to s~; its key has b_i + a_i s~ = P g_i s + e_i.
Ciphertext rotate_by_textbook(const Context& context, const Ciphertext& c,
                              GaloisElement g, const KeySwitchKey& key) {
  // ModUp: the digits d_i of c_1, which sum_i d_i g_i makes up again. Then
  //     x_0 + x_1 s~ = sum_i d_i (b_i + a_i s~) = P c_1 s + sum_i d_i e_i
  const auto x = textbook::sum_over_digits(context, c.c[1], key);
  // ModDown: round(x / P), which leaves k_0 + k_1 s~ = c_1 s and a small error.
  RnsPoly k0 = textbook::mod_down(x[0]), k1 = textbook::mod_down(x[1]);
  add(k0, k0, c.c[0]);
  return {{automorphism(k0, g), automorphism(k1, g)}, c.scale(), c.fingerprint};
}

bool same(const RnsPoly& a, const RnsPoly& b) {
  return std::equal(a.limb(0), a.limb(0) + a.bytes() / sizeof(uint64_t), b.limb(0));
}

int main() {
  title("Lesson 3: key switching");
  TestParty party(insecure_bootstrappable(11));
  const Context& context = party.context;
  say_insecure(context.describe());
  const Level top = context.max_level();

  section("The gadget at the top level: digits of c_1",
          "Each digit is 8 bits or more below P: dividing by P leaves little error.");
  line("digit", "first q", "last q", "log2 D_i", "log2 P");
  for (int i = 0; i < context.digit_count(top); ++i) {
    const DigitRange primes = context.digit(i, top);
    const auto log2_below = [&](int end) {
      return end > 0 ? context.log2_q(level_of({end, 0})) : 0;
    };
    const double log2_d = log2_below(primes.end) - log2_below(primes.begin);
    line("D_" + std::to_string(i), primes.begin, primes.end - 1, format("%.1f", log2_d),
         format("%.1f", context.log2_p(top)));
  }

  section("Rotations by one slot: one gadget for each band of levels",
          "In every band the fast rotation has the bits of the textbook's.");
  line("level", "digits", "primes of P", "error", "predicted", "the key", "same bits");
  const NoiseModel model(context);
  const GaloisElement g = galois_element(context, 1);
  for (const Gadget& band : context.chain().bands) {
    const ckks::Level level = band.top;
    party.add_rotations({1}, level);
    const KeySwitchKey& key = *party.keys.find_galois(context, g, level);
    const Ciphertext c = party.encrypt(party.random_slots(1), level);
    const Ciphertext slow = rotate_by_textbook(context, c, g, key);
    const Ciphertext fast = party.evaluator->rotate(c, 1);
    Slots turned = party.decrypt(c);
    std::rotate(turned.begin(), turned.begin() + 1, turned.end());
    line(std::to_string(level), context.digit_count(level), key.p_count,
         bits(rms_error(party.decrypt(slow), turned)),
         bits(model.key_switch(level, c.scale())),
         bytes_text(static_cast<double>(key.bytes())),
         same(slow.c[0], fast.c[0]) && same(slow.c[1], fast.c[1]));
  }
}
