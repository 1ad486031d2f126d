// A real matrix on complex slots that repeat, y = A x + B conj(x), with as few vectors of weights as
// possible. Every slot of every vector holds another weight, while the diagonals of encrypted_linear.h repeat
// with every token. For expensive weights: ciphertexts, one for each vector (weight_inputs.h).
//
// Packing. A vector is cut into blocks of F complex features. A stack is a ciphertext with R blocks side by
// side that repeat: feature f of block k mod R is in slot k F + f, and the period is R F. F and R are powers
// of two. A, B and SlotMatrix: encrypted_linear.h.
//
// Equation. Block o of the rows has a region of the output, from slot c_o = F first_o on. Its S places are F
// + B slots apart (F apart if B = F). So each place meets the input's features B further on than the place
// before, although all inputs are rotated by the same b:
//     z[c_o + s (F + B) + f] = sum_{0 <= b < B}  A_o[f, p] rot_b(x)[..] + B_o[f, p] rot_b(conj x)[..],
//     p = (c_o + s (F + B) + f + b) mod R F,   the column in that slot;       0 <= s < R F / B
// F / B + 1 is odd, so over all b and s every p comes once for every f. If inputs differ in R, the shorter
// ones leave the last places empty. Then
//     y_o[f] = sum_{0 <= s < S}  z[c_o + f + s (F + B)]                  sum_of_rotations, S = max R F / B,
// in the slots from c_o to c_o + F. The other slots must be masked.
//
// Levels: 1, and 1 for the mask. Key-switches: a conjugation and 2 (B - 1) hoisted for each input, sigma(S) for
// each output. Weights: 2 B for each input and output.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

// The block of columns in each place of an input; -1: none (zero).
using Stack = std::vector<int>;

// Where a region may begin: at a place of F slots whose number is `residue` modulo `modulus`.
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

// Returns the B that costs least, and its regions, one for each of `rows`. Throws psm::Error if a stack does
// not fit the slots.
DenseShape choose_dense_shape(size_t slots, int features, std::span<const Stack> columns,
                              std::span<const Congruence> rows);

// The sources of dense_map: x and conj x of each input.
std::vector<program::Value> dense_sources(program::Builder&, std::span<const program::Value> x);

// The map to z. Its terms depend on the shape alone, not on the entries.
ckks::LinearTransform dense_map(const SlotMatrix&, const DenseShape&, std::span<const Stack> columns);

// 1 in the regions of these blocks of rows that are in one output, and zero elsewhere; -1: no block.
ckks::Plain region_mask(const DenseShape&, int output, std::span<const int> blocks);

// Matrices with the same columns, one above the other.
SlotMatrix above_one_another(std::span<const SlotMatrix>);

}  // namespace psm::nn
