// The whole model as a slot program, and the client's two ends of it.
//
// The client embeds its prompts, removes the mean of every token's features, and sends
//     x'  = (E[token] - mean) / R         (residual_scale; input "x", or "x0", "x1" ... of a wide model)
//     h'  = LayerNorm without gamma, beta  (input "h" ..., with PolynomialOptions::client_norm)
// The server runs all layers. The client decrypts x' after the last one, multiplies by R and applies the
// final norm and the unembedding. Embedding and unembedding are the client's, as in the paper's timing.
#pragma once

#include <complex>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attention/encrypted/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"

namespace psm::attention {

using SlotVectors = std::map<std::string, std::vector<std::complex<double>>>;

// `cached_tokens`: the length of the one prompt after which text is to go on: its keys and values are outputs
// as well (encrypted_cache.h). 0: they are not.
program::Program build_program(const PolynomialModel&, const Packing&, int cached_tokens = 0);

// A model that exists only as a shape, for the meter: weights without entries, and the polynomials that a
// model with the ranges of ShapeRanges would need.
struct ShapeRanges {
  approx::Interval variance{0.1, 10};
  approx::Interval denominator{1e-3, 1};
  double gelu_input = 6;
};
program::Program build_shape_program(const ModelConfig&, const Packing&, const ShapeRanges& = {},
                                     const PolynomialOptions& = {}, int cached_tokens = 0);
LayerApproximations shape_polynomials(const ModelConfig&, const ShapeRanges&, const PolynomialOptions&);

// "x", or "x0", "x1" ... where the state takes several ciphertexts.
std::string input_name(const Packing&, const char* name, int ciphertext);

// (t + 1)^{-1/p}: the length of token t's row, so that row sums are means.
double row_scale(int token, int power);

// The inputs of the program by name. Throws psm::Error on prompts that are empty, too long, too many, or have
// tokens that the model lacks.
SlotVectors client_inputs(const PolynomialModel&, const Packing&, std::span<const std::vector<int>> prompts);

// From the outputs of the program: logits [tokens of the prompt][vocab] of each prompt.
std::vector<std::vector<double>> client_logits(const PolynomialModel&, const Packing&,
                                               const SlotVectors& outputs,
                                               std::span<const std::vector<int>> prompts);

}  // namespace psm::attention
