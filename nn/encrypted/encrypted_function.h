// Polynomials of approx/ on ciphertexts: their steps (approx/approximation.h) as instructions.
//
// Levels: depth(), or products_depth() for products. Refresh candidates: those of the steps, and P itself in
// build_products() if it is computed as a value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::nn {

// Computes out for v = input_scale() x + input_offset(). With `what`, the twin checks that v stays in input_range().
program::Value build(program::Builder&, const approx::Approximation&, program::Value v,
                     const std::string& what = {});

// Computes out * y for each y; y may have a higher level than v. Takes products_depth() levels from v and at
// least two from y. products_depth() is depth() + 1, or depth() if P is one series whose degree lies from m
// to 3/2 m - 1, m >= 4 a power of two. Then P = R + T_m Q, deg R < m and deg Q < m / 2, and in
//     P y = R y + T_m (Q y),
// Q y is as deep as T_m. This takes two products for each y instead of one.
std::vector<program::Value> build_products(program::Builder&, const approx::Approximation&, program::Value v,
                                           std::span<const program::Value> y, const std::string& what = {});
int products_depth(const approx::Approximation&);

// x^p by repeated squaring, p >= 1; depth ceil(log2 p).
program::Value power_of(program::Builder&, program::Value x, int p);

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

// Which parts of the slots hold hidden units. If only the real ones do, imaginary parts are ignored. That is half the
// polynomials, if there are slots enough for all numbers side by side (dense_linear.h).
enum class Parts { kBoth, kReal };

// `label` is the instructions' label.
std::vector<program::Value> encrypted_gelu(program::Builder&, std::span<const program::Value> half,
                                           const approx::Approximation& gelu, Parts = Parts::kBoth,
                                           const std::string& label = "gelu");

// Gates come first, then up.
std::vector<program::Value> encrypted_swiglu(program::Builder&, std::span<const program::Value> half,
                                             const approx::Approximation& silu, Parts = Parts::kBoth);

}  // namespace psm::nn
