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

}  // namespace psm::nn
