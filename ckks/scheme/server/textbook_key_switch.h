// The textbook key switch: the equations of ckks/engine/engine.h, one after another, on exact integers.
// It is for reading, and the reference that HostEngine must equal bit for bit.
//
// c is a polynomial modulo Q_l = q_0 .. q_l that is meant to be multiplied by a secret s'; (b_i, a_i) with
// b_i = -a_i s + e_i + P g_i s' is the key from s' to s (keys.h), D_i the product of the primes of digit i.
//
//     ModUp      d_i = [c]_{D_i}  in (-D_i/2, D_i/2), an integer, taken modulo Q_l P
//     sum        x_0 = sum_i d_i b_i,   x_1 = sum_i d_i a_i                   modulo Q_l P
//     ModDown    k = round(x / P) = (x - [x]_P) / P                           modulo Q_l
//
// Since sum_i d_i g_i = c mod Q_l, the sum has x_0 + x_1 s = P c s' + sum_i d_i e_i, and the division gives
//
//     k_0 + k_1 s = c s' + (sum_i d_i e_i) / P + rounding:          small, because D_i < P.
//
// Representatives here are exactly those nearest to zero. The fast code finds them with doubles. It may take
// the other one if a coefficient lies within 2^-48 D of a half (basis_conversion.h), which one in 2^47 random
// coefficients does.
#pragma once

#include <array>

#include "ckks/ring/poly.h"
#include "ckks/scheme/chain/context.h"
#include "ckks/scheme/public/keys.h"

namespace psm::ckks::textbook {

// c and the sums (x_0, x_1): NTT form.
std::array<RnsPoly, 2> sum_over_digits(const Context& context, const RnsPoly& c, const KeySwitchKey& key);

// round(x / P) or, one level lower, round(x / (P q_l)). NTT form in and out.
RnsPoly mod_down(const RnsPoly& x, bool rescale = false);

// (k_0, k_1). NTT form in and out.
std::array<RnsPoly, 2> switch_key(const Context& context, const RnsPoly& c, const KeySwitchKey& key);

}  // namespace psm::ckks::textbook
