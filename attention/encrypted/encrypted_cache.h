// The keys and values that a further token reads (decode.h): what the program of a prompt hands out and that
// of a token takes and hands on, one ciphertext each for every layer and ciphertext of heads.
//
//     K[u, f] = [u is filled] k_u[f] e^{i theta_f u}         "layer 0 / keys", "layer 0 / values";
//     V[u, f] = [u is filled] v_u[f] / |row_sum_factor|      with several ciphertexts "... / keys 0", 1 ...
//
// in the slots of token-major packing (packing.h), of one sequence: period T F. k, v and row_sum_factor are
// those of folded_weights.h, theta that of encrypted_attention.h. A place that is not filled is zero, and so
// is its score.
#pragma once

#include <string>
#include <vector>

#include "attention/ends/packing.h"
#include "ckks/linalg/plain.h"
#include "ckks/program/program.h"

namespace psm::attention {

// What k is multiplied by to enter places [first, last): the same in all layers.
ckks::Plain cache_key_mask(const Packing&, const std::vector<double>& theta, int first, int last);
// What v is multiplied by for that: `factor` is 1 / |row_sum_factor|, times the unit in which v comes.
ckks::Plain cache_value_mask(const Packing&, double factor, int first, int last);

std::string keys_name(const Packing&, int layer, int ciphertext);
std::string values_name(const Packing&, int layer, int ciphertext);
// All of a model's.
std::vector<std::string> cache_names(const Packing&, int layers);

// What differs, for a prompt of `tokens`, in the program of one that fills the cache (build_program with T
// cached tokens): the masks. Or in its plan's program.
program::Constants prompt_constants(const program::Program&, const Packing&, int layers, int tokens);

// Throws psm::Error unless the packing is of one sequence, of `tokens` tokens at most.
void require_one_sequence(const Packing&, int tokens);

}  // namespace psm::attention
