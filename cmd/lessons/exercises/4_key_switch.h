// Exercise 4: a rotation by the equations of key switching.
#pragma once

#include "ckks/scheme/public/ciphertext.h"
#include "ckks/scheme/server/textbook_key_switch.h"
#include "cmd/lessons/blackboard.h"

namespace psm::lesson {

// Returns the slots of c, rotated by X -> X^g, under the same secret. The map turns a
// ciphertext under s~ into one under s, if s~(X^g) = s(X). So the key switch comes first,
// from s to s~; its key has b_i + a_i s~ = P g_i s + e_i.
//   1. x = textbook::sum_over_digits(context, c.c[1], key):
//          x_0 + x_1 s~ = P c_1 s + sum_i d_i e_i
//   2. k_i = textbook::mod_down(x_i) = round(x_i / P):  k_0 + k_1 s~ = c_1 s + small
//   3. add c_0 to k_0 (add(out, a, b)), apply automorphism(a, g) to both polynomials, and
//      return {{c_0, c_1}, c.scale(), c.fingerprint}.
inline Ciphertext rotate_by_textbook(const Context& context, const Ciphertext& c,
                                     GaloisElement g, const KeySwitchKey& key) {
  throw ToDo{"rotate_by_textbook() in cmd/lessons/exercises/4_key_switch.h"};
}

}  // namespace psm::lesson
