// The whole model as a slot program. The server runs all layers, and a classifier's head (encrypted_head.h); embedding
// and unembedding are the client's (attention/ends/client_model.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attention/ends/client_model.h"
#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "attention/shape/examples.h"
#include "ckks/program/program.h"

namespace psm::attention {

// `cached_tokens`: the length of the one prompt after which text is to go on: its keys and values are outputs
// as well (encrypted_cache.h). 0: they are not. `keeper`: takes the weights (program.h), a layer's at a time.
program::Program build_program(const PolynomialModel&, const Packing&, int cached_tokens = 0,
                               program::PlainKeeper* keeper = nullptr);

// A model that exists only as a shape, for the meter: weights without entries, and the polynomials that a
// model with the ranges of ShapeRanges would need: about those of the model of Pythia 70M's shape in
// attention/PAPER.md, with a margin of 1.5.
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

// The ciphertexts of a state under those names, their slots repeating with `period`; and of the last one, "y".
std::vector<program::Value> state_inputs(program::Builder&, const Packing&, const char* name, size_t period);
void state_outputs(program::Builder&, const Packing&, const std::vector<program::Value>& x);

// What the client takes of a model; and its ends for whoever has the model.
ClientModel client_model_of(const PolynomialModel&, const Packing&);
SlotVectors client_inputs(const PolynomialModel&, const Packing&, const Examples&);
std::vector<std::vector<double>> client_logits(const PolynomialModel&, const Packing&,
                                               const SlotVectors& outputs, const Examples&);

}  // namespace psm::attention
