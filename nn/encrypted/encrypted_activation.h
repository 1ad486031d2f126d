// GELU and SwiGLU on ciphertexts whose slots hold two hidden units each, in re and im; or another function of reals,
// such as the sigmoid of a classifier's head.
//
// gelu is a function of reals. 2 re = z + conj z and 2 im = i (conj z - z) separate the parts. So the input is half
// of the approximation's argument, input_scale * (hidden unit) / 2; the factor goes into W_up. The two real parts are
// one refresh group: a bootstrap takes both. The result is out(re) + i out(im), gelu / output_scale.
//
// SwiGLU is silu(g) u of each unit, from halves of g (in silu's input_scale) and of u / bound with |u| <= bound:
//     y = S_re U_re + S_im (i U_im),    S = silu(g) / output_scale,    U = u / bound
// is one sum of two products. Out comes silu(g) u / (output_scale bound), in [-1, 1].
//
// Levels: depth of gelu; of SwiGLU depth of silu + 1, from u 1. Key-switches: 1 conjugation for each ciphertext, and
// those of two polynomials; in SwiGLU 2 and 1 relinearisation. Refresh candidates: all parts, before and behind silu,
// and the result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::nn {

// Which parts of the slots hold hidden units. If only the real ones do, imaginary parts are ignored. That is half the
// polynomials, if there are slots enough for all numbers side by side (spread_linear.h).
enum class Parts { kBoth, kReal };

// `label` is the instructions' label.
std::vector<program::Value> encrypted_gelu(program::Builder&, std::span<const program::Value> half,
                                           const approx::Approximation& gelu, Parts = Parts::kBoth,
                                           const std::string& label = "gelu");

// Gates come first, then up.
std::vector<program::Value> encrypted_swiglu(program::Builder&, std::span<const program::Value> half,
                                             const approx::Approximation& silu, Parts = Parts::kBoth);

}  // namespace psm::nn
