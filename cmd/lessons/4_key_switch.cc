// Lesson 4. Rotations and key switching: why a rotation leaves the secret, how a key
// brings it back, and the fast code, which must have the bits of the textbook's.
#include "4_key_switch.h"  // the function to write: of exercises/, or of solutions/

#include <algorithm>

#include "ckks/scheme/errors/noise.h"
#include "ckks/scheme/testing/test_party.h"

using namespace psm::lesson;

Slots turned(Slots z) {
  std::rotate(z.begin(), z.begin() + 1, z.end());
  return z;
}

int main() {
  title("Lesson 4: key switching and rotations");
  TestParty party(insecure_bootstrappable(11));
  const Context& context = party.context;
  say_insecure(context.describe());
  const Level top = context.max_level();

  section("X -> X^5 rotates the slots, and s with them",
          "Under s the result is noise; after a key switch its error is small.");
  party.add_rotations({1}, 2);
  const GaloisElement g = galois_element(context, 1);
  const Ciphertext x = party.encrypt(party.random_slots(1), 2);
  Ciphertext under_another = x.clone();
  for (size_t i : {0, 1}) under_another.c[i] = automorphism(x.c[i], g);
  const Slots exact = turned(party.decrypt(x));
  line("the Galois element of one slot", static_cast<int64_t>(g));
  line("error without a key switch",
       bits(rms_error(party.decrypt(under_another), exact)));
  const Ciphertext switched = party.evaluator->rotate(x, 1);
  line("error with it", bits(rms_error(party.decrypt(switched), exact)));

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
          "In every band the error is near its prediction.");
  line("level", "digits", "primes of P", "error", "predicted", "the key");
  const NoiseModel model(context);
  std::vector<Ciphertext> inputs, rotated;
  for (const Gadget& band : context.chain().bands) {
    const ckks::Level level = band.top;
    party.add_rotations({1}, level);
    const KeySwitchKey& key = *party.keys.find(context, KeyRole::kGalois, g, level);
    const Ciphertext& c =
        inputs.emplace_back(party.encrypt(party.random_slots(1), level));
    const Ciphertext& fast = rotated.emplace_back(party.evaluator->rotate(c, 1));
    line(std::to_string(level), context.digit_count(level), key.p_count,
         bits(rms_error(party.decrypt(fast), turned(party.decrypt(c)))),
         bits(model.key_switch(level, c.scale())),
         bytes_text(static_cast<double>(key.bytes())));
  }

  section("Your rotation by the textbook",
          "It has the bits of the fast one in every band.");
  with_exercise([&] {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const ckks::Level level = inputs[i].level();
      const KeySwitchKey& key = *party.keys.find(context, KeyRole::kGalois, g, level);
      const Ciphertext yours = rotate_by_textbook(context, inputs[i], g, key);
      line("the same bits, level " + std::to_string(level), same_bits(yours, rotated[i]));
    }
  });
}
