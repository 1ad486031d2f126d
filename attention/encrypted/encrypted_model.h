// The whole model as a slot program, and the client's two ends of it.
//
// The client embeds its prompts (tokens or patches, with their positions if those are learned), removes the
// mean of every token's features where LayerNorm would, and sends
//     x'  = (E[token] - mean) / R         (residual_scale; input "x", or "x0", "x1" ... of a wide model)
//     h'  = N without gamma, beta          (input "h" ..., with PolynomialOptions::client_norm)
// or of a kPostNorm model, whose first norm is before the first block, h' alone; and of bidirectional models
// of texts the mask of their lengths (input "lengths", encrypted_attention.h).
//
// The server runs all layers, and a classifier's head (encrypted_head.h). Of a language model the client
// decrypts x' after the last layer, multiplies by R and applies the final norm and the unembedding; of a
// classifier the logits (output "logits" ...). Embedding and unembedding are the client's, as in the paper's
// timing.
#pragma once

#include <complex>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "attention/encrypted/packing.h"
#include "attention/reference/polynomial_model.h"
#include "attention/shape/examples.h"
#include "ckks/program/program.h"

namespace psm::attention {

using SlotVectors = std::map<std::string, std::vector<std::complex<double>>>;

// `cached_tokens`: the length of the one prompt after which text is to go on: its keys and values are outputs
// as well (encrypted_cache.h). 0: they are not.
program::Program build_program(const PolynomialModel&, const Packing&, int cached_tokens = 0);

// A model that exists only as a shape, for the meter: weights without entries, and the polynomials that a
// model with the ranges of ShapeRanges would need: about those of the model of Pythia 70M's shape in
// train/README.md, with a margin of 1.5.
struct ShapeRanges {
  approx::Interval variance{0.8, 10};
  approx::Interval denominator{1e-3, 1};
  double gelu_input = 6;    // or SiLU's
  double pooler_input = 4;  // of the sigmoid of a classifier's head
};
program::Program build_shape_program(const ModelConfig&, const Packing&, const ShapeRanges& = {},
                                     const PolynomialOptions& = {}, int cached_tokens = 0);
LayerApproximations shape_polynomials(const ModelConfig&, const ShapeRanges&, const PolynomialOptions&);

// Throws psm::Error on a model whose tokens cannot be computed one by one on kept keys and values (decode.h).
void require_decodable(const ModelConfig&);

// "x", or "x0", "x1" ... where the state takes several ciphertexts.
std::string input_name(const Packing&, const char* name, int ciphertext);
// The ciphertexts of a state under those names, their slots repeating with `period`; and of the last one, "x".
std::vector<program::Value> state_inputs(program::Builder&, const Packing&, const char* name, size_t period);
void state_outputs(program::Builder&, const Packing&, const std::vector<program::Value>& x);

// (t + 1)^{-1/p}: the length of token t's row, so that row sums are means.
double row_scale(int token, int power);

// The inputs of the program by name. Throws psm::Error on examples that are too many, or that the model
// cannot read (examples.h); on images of fewer patches than the model's context has room for.
SlotVectors client_inputs(const PolynomialModel&, const Packing&, const Examples&);

// From the outputs of the program: logits of each example, [tokens][vocab], or [classes] of a classifier. Of
// the examples only their number and lengths count.
std::vector<std::vector<double>> client_logits(const PolynomialModel&, const Packing&,
                                               const SlotVectors& outputs, const Examples&);

}  // namespace psm::attention
