// Polynomials of approx/ on ciphertexts: their steps (approx/steps.h) as instructions.
//
// Levels: depth(); of products products_depth(). Refresh candidates: where the steps have them, and in
// build_products() P itself where it is a value.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::nn {

// out for v = input_scale() x + input_offset(). With `what` the twin checks that v stays in input_range().
program::Value build(program::Builder&, const approx::Approximation&, program::Value v,
                     const std::string& what = {});

// out * y for each y, which may stand higher than v. Consumes products_depth() levels from v and at least two
// from y: depth() + 1, and a level less where P is one series of a degree from m to 3/2 m - 1, m a power of
// two, of at least 4. With P = R + T_m Q, deg R < m and deg Q < m / 2,
//     P y = R y + T_m (Q y),
// in which Q y is as deep as T_m; for two products a y instead of one.
std::vector<program::Value> build_products(program::Builder&, const approx::Approximation&, program::Value v,
                                           std::span<const program::Value> y, const std::string& what = {});
int products_depth(const approx::Approximation&);

}  // namespace psm::nn
