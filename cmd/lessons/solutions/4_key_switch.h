// Solution 4: a rotation by the equations of key switching.
#pragma once

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/server/textbook_key_switch.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

inline Ciphertext rotate_by_textbook(const Context& context, const Ciphertext& c,
                                     GaloisElement g, const KeySwitchKey& key) {
  const auto x = textbook::sum_over_digits(context, c.c[1], key);
  RnsPoly k0 = textbook::mod_down(x[0]);
  const RnsPoly k1 = textbook::mod_down(x[1]);
  add(k0, k0, c.c[0]);
  return {{automorphism(k0, g), automorphism(k1, g)}, c.scale(), c.fingerprint};
}

}  // namespace psm::lesson
