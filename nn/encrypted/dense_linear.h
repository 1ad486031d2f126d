// A real matrix on complex slots that repeat, y = A x + B conj(x), from as few vectors of weights as there are
// numbers in it: every slot of every vector counts, where the diagonals of encrypted_linear.h repeat with every
// token. For weights that are dear: ciphertexts, one for each vector (weight_inputs.h).
//
// Packing. A vector is cut into blocks of F complex features. A stack is a ciphertext that holds R of them side
// by side and repeats: feature f of block k mod R is in slot k F + f, the period is R F. F and R are powers of
// two. A, B and SlotMatrix: encrypted_linear.h.
//
// Equation. Block o of the rows has a region of the output, from slot c_o = F first_o on. Its S places stand
// F + B slots apart (F, where B = F), so that each meets the input's features B further on than the one before,
// although all inputs are rotated by the same b:
//     z[c_o + s (F + B) + f] = sum_{0 <= b < B}  A_o[f, p] rot_b(x)[..] + B_o[f, p] rot_b(conj x)[..],
//     p = (c_o + s (F + B) + f + b) mod R F,   the column in that slot;       0 <= s < R F / B
// F / B + 1 is odd, so with b and s every p comes once for every f. If inputs differ in R, the shorter ones
// leave the last places empty. Then
//     y_o[f] = sum_{0 <= s < S}  z[c_o + f + s (F + B)]                  sum_over_places, S = max R F / B,
// in the slots from c_o to c_o + F; in all others is what must be masked away.
//
// Levels: 1, and 1 for the mask. Key-switches: a conjugation and 2 (B - 1) hoisted for each input, sigma(S) for
// each output. Weights: 2 B for each input and output.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

// Which block of columns stands in each place of an input; -1: none (zero).
using Stack = std::vector<int>;

// Where a region may begin: in a place of F slots that is `residue` modulo `modulus`.
struct Congruence {
  int residue = 0, modulus = 1;
};

struct DenseRegion {
  int output = 0, first = 0;  // its first place of F slots
};

struct DenseShape {
  size_t slots = 0;
  int features = 0, babies = 1, places = 1;  // F, B, S
  int outputs = 0;
  std::vector<DenseRegion> regions;  // of each block of rows

  int stride() const { return babies < features ? features + babies : features; }
};

// The B that costs least, and the regions for it, one for each of `rows`. Throws psm::Error where a stack does
// not fit the slots.
DenseShape choose_dense_shape(size_t slots, int features, std::span<const Stack> columns,
                              std::span<const Congruence> rows);

// x, conj x of each: what dense_map reads.
std::vector<program::Value> dense_sources(program::Builder&, std::span<const program::Value> x);

// The map to z. Its terms follow from the shape alone, whatever the entries are.
ckks::LinearTransform dense_map(const SlotMatrix&, const DenseShape&, std::span<const Stack> columns);

// y from z, one output.
program::Value sum_over_places(program::Builder&, program::Value z, const DenseShape&);

// A vector that is `of_block[f]` in the region of its block and zero elsewhere, for the blocks of one output.
// Blocks without a vector (period 0) stay zero.
ckks::Plain in_regions(const DenseShape&, int output, std::span<const ckks::Plain> of_block);

// Matrices with the same columns, one above the other.
SlotMatrix above_one_another(std::span<const SlotMatrix>);

}  // namespace psm::nn
