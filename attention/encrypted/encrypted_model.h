// The whole model as a slot program. The server runs all layers, and a classifier's head (encrypted_block.h).
// The client does embedding and unembedding (attention/ends/client_model.h).
#pragma once

#include <string>
#include <vector>

#include "attention/ends/client_model.h"
#include "attention/ends/packing.h"
#include "attention/reference/polynomial_model.h"
#include "ckks/program/program.h"

namespace psm::attention {

// `cached_tokens`: the length of the one prompt that a text continues. Its keys and values are then outputs
// too (encrypted_cache.h). 0: none. `keeper` stores the weights (program.h), layer by layer.
program::Program build_program(const PolynomialModel&, const Packing&, int cached_tokens = 0,
                               program::PlainKeeper* keeper = nullptr);

// A model that is only a shape, for the meter: weights without entries, of which the same programs are built, and the
// polynomials that the ranges of ShapeRanges need. These are about those of the model of Pythia 70M's shape in
// attention/PAPER.md, with a margin of 1.5 that they include: that of the options is not used.
struct ShapeRanges {
  approx::Interval variance{0.8, 10};
  approx::Interval denominator{1e-3, 1};
  double gelu_input = 6;    // or SiLU's
  double pooler_input = 4;  // of the sigmoid of a classifier's head
};
PolynomialModel shape_model(const ModelConfig&, const ShapeRanges& = {}, PolynomialOptions = {});

// Throws psm::Error on a model that cannot compute tokens one by one with cached keys and values (decode.h).
void require_decodable(const ModelConfig&);

// The inputs of a state by name, whose slots repeat with `period`; and outputs.
std::vector<program::Value> state_inputs(program::Builder&, const Packing&, const char* name, size_t period);
void add_outputs(program::Builder&, const std::vector<std::string>& names,
                 const std::vector<program::Value>& values);

// The client's part of a model.
ClientModel client_model_of(const PolynomialModel&, const Packing&);

}  // namespace psm::attention
