// GELU on ciphertexts whose slots hold two hidden units each, in re and im; or another function of reals,
// such as the sigmoid of a classifier's head.
//
// gelu is a function of reals. 2 re = z + conj z and 2 im = -i z + conj(-i z) separate the parts. So the input is half
// of the approximation's argument, input_scale * (hidden unit) / 2; the factor goes into W_up. The two real parts are
// one refresh group: a bootstrap takes both. The result is out(re) + i out(im), gelu / output_scale.
//
// Levels: depth of gelu. Key-switches: 2 conjugations for each ciphertext, and those of two polynomials.
// Refresh candidates: both halves, and the result.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::nn {

// `label` is the instructions' label.
std::vector<program::Value> encrypted_gelu(program::Builder&, std::span<const program::Value> half,
                                           const approx::Approximation& gelu,
                                           const std::string& label = "gelu");

// GELU of the real parts alone; imaginary parts are ignored. Half the polynomials, if there are slots enough
// for all numbers side by side (spread_linear.h).
std::vector<program::Value> encrypted_gelu_of_real(program::Builder&, std::span<const program::Value> half,
                                                   const approx::Approximation& gelu);

// Twice re and twice im of each, one after the other.
std::vector<program::Value> separate_parts(program::Builder&, std::span<const program::Value>);

// The parts of halves as the approximation's arguments; refresh candidates.
std::vector<program::Value> parts_to_approximate(program::Builder&, std::span<const program::Value> half,
                                                 const approx::Approximation&);

}  // namespace psm::nn
