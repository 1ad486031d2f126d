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
#pragma once

#include <string>
#include <vector>

#include "attention/ends/packing.h"
#include "ckks/linalg/plain.h"
#include "ckks/program/program.h"

namespace psm::attention {

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

}  // namespace psm::attention
