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
// too (cache_names). 0: none. `keeper` stores the weights (program.h), layer by layer.
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

// The cached keys and values that a further token reads (decode.h). The program of a prompt makes them, that
// of a token takes them and passes them on. There is one ciphertext of each for every layer and ciphertext of
// keys (packing.h).
//
//     K[u, f] = [u is filled] k_u[f] e^{i theta_f u}         "layer 0 / keys", "layer 0 / values";
//     V[u, f] = [u is filled] v_u[f] / |row_sum_factor|      with several ciphertexts "... / keys 0", 1 ...
//
// in the slots of token-major packing (packing.h), of one sequence, with period T F. k, v and row_sum_factor
// are those of folded_weights.h, theta that of encrypted_attention.h. An empty place is zero, and so is its
// score.

// The factor of k for entering places [first, last), the same in all layers.
ckks::Plain cache_key_mask(const Packing&, const std::vector<double>& theta, int first, int last);
// The factor of v for the same; `factor` is 1 / |row_sum_factor| times the unit of v.
ckks::Plain cache_value_mask(const Packing&, double factor, int first, int last);

// `what`: "keys" or "values".
std::string cache_name(const Packing&, int layer, const char* what, int ciphertext);
// All of a model's.
std::vector<std::string> cache_names(const Packing&, int layers);

// The masks for a prompt of `tokens` tokens in the program of a full prompt (build_program with T cached
// tokens), or in its plan's program.
program::Constants prompt_constants(const program::Program&, const Packing&, int layers, int tokens);

// Throws psm::Error unless the packing is of one sequence, of `tokens` tokens at most.
void require_one_sequence(const Packing&, int tokens);

// The client's part of a model.
ClientModel client_model_of(const PolynomialModel&, const Packing&);

}  // namespace psm::attention
