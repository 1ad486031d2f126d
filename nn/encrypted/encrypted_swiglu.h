// SwiGLU on ciphertexts whose slots hold two hidden units each, in re and im:  silu(g) u  of each unit.
//
// Both inputs are halves (encrypted_gelu.h), because their parts are separated: one of input_scale g, one of
// u / bound with |u| <= bound:
//     y = S_re U_re + S_im (i U_im),    S = silu(g) / output_scale,    U = u / bound
// is one sum of two products. The result is silu(g) u / (output_scale bound), in [-1, 1].
//
// Levels: depth of silu + 1; from u 1. Key-switches: 4 conjugations and 1 relinearisation for each ciphertext, and
// those of two polynomials. Refresh candidates: all parts, before and after silu, and the result.
#pragma once

#include <span>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::nn {

std::vector<program::Value> encrypted_swiglu(program::Builder&, std::span<const program::Value> half_gate,
                                             std::span<const program::Value> half_up,
                                             const approx::Approximation& silu);

}  // namespace psm::nn
