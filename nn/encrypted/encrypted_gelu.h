// GELU on ciphertexts whose slots hold two hidden units each, in re and im; or another function of reals,
// such as the sigmoid of a classifier's head.
//
// gelu is a function of reals: re and im are separated by 2 re = z + conj z and 2 im = -i z + conj(-i z), so
// the input is half of what the approximation reads, input_scale * (hidden unit) / 2 (the factor goes into
// W_up). The two real halves are one refresh group: a bootstrap takes both. Out comes out(re) + i out(im),
// gelu / output_scale.
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

// `label`: of its instructions.
std::vector<program::Value> encrypted_gelu(program::Builder&, std::span<const program::Value> half,
                                           const approx::Approximation& gelu,
                                           const std::string& label = "gelu");

// GELU of the real parts alone: the imaginary ones are ignored. Half the polynomials, with slots
// enough to have all numbers side by side (spread_linear.h).
std::vector<program::Value> encrypted_gelu_of_real(program::Builder&, std::span<const program::Value> half,
                                                   const approx::Approximation& gelu);

// Twice re and twice im of each, one after the other.
std::vector<program::Value> separate_parts(program::Builder&, std::span<const program::Value>);

// The parts of halves as the approximation reads them, refresh candidates.
std::vector<program::Value> parts_to_approximate(program::Builder&, std::span<const program::Value> half,
                                                 const approx::Approximation&);

}  // namespace psm::nn
