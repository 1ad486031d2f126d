// Real matrices on complex slots that repeat, with as few vectors of weights as possible. Every slot of every vector
// holds another weight, while the diagonals of encrypted_linear.h repeat with every token. For expensive weights:
// ciphertexts, one for each vector (weight_inputs.h). F is a power of two. A, B and SlotMatrix: encrypted_linear.h.
//
// A dense map, y = A x + B conj(x).
//
// Packing. A vector is cut into blocks of F complex features. A ciphertext holds one of them, with period F.
//
// Equation. Block o of the rows has a region of the output, from slot c_o = F first_o on. Its S = F / B places
// are F + B slots apart (F apart if B = F). So each place meets the input's features B further on than the place
// before, although all inputs are rotated by the same b:
//     z[c_o + s (F + B) + f] = sum_{0 <= b < B}  A_o[f, p] rot_b(x)[..] + B_o[f, p] rot_b(conj x)[..],
//     p = (c_o + s (F + B) + f + b) mod F,   the column in that slot;       0 <= s < S
// So over all b and s every p comes once for every f. Then
//     y_o[f] = sum_{0 <= s < S}  z[c_o + f + s (F + B)]                     sum_of_rotations
// in the slots from c_o to c_o + F. The other slots must be masked.
//
// Levels: 1, and 1 for the mask. Key-switches: a conjugation and 2 (B - 1) hoisted for each input, sigma(S) for
// each output. Weights: 2 B for each input and output.
//
// A spread map, of the real parts of the slots. Its result repeats without a mask, but its inputs are spread
// beforehand. Spreading takes a level that need not be on the longest path. Functions in between, such as GELU, take
// real and imaginary parts at once.
//
// Packing. A stack z holds R blocks of F complex features side by side, in their order, with period R F. R is a power
// of two; places behind the last block are zero. Its columns are the R F real parts, then the R F imaginary ones. n
// slots have U = n / (2 R F) repetitions of them. Spreading turns repetition u by u B columns:
//     s[j] = column c(j) of z,    c(j) = (j + B floor(j / (2 R F))) mod 2 R F,         B = max(F / U, 1).
//
// Equation. All slots sum, so block o of the rows is, with W[f, c] the complex number of the two entries,
//     y_o[f] = sum over j = f mod F of  sum_{0 <= b < B}  W_o[f, c(j + b)] s[j + b].
// Over all j and b every column comes, and only once if U <= F: the last columns of a repetition meet the first of the
// next one. Columns that come again get zero weights. The sum over rotations by F leaves y_o in all places of F slots.
//
// Levels: 1 to spread, 1 for the map. Key-switches: about U^(1/2) hoisted and as many full to spread, B - 1
// hoisted for each input, sigma(n / F) for each output. Weights: B for each input and output.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

// Where a region may begin: at a place of F slots whose number is `residue` modulo `modulus`.
struct Congruence {
  int residue = 0, modulus = 1;
};

struct DenseRegion {
  int output = 0, first = 0;  // its first place of F slots
};

struct DenseShape {
  size_t slots = 0;
  int features = 0, babies = 1;  // F, B
  int outputs = 0;
  std::vector<DenseRegion> regions;  // of each block of rows

  int places() const { return features / babies; }  // S
  int stride() const { return babies < features ? features + babies : features; }
};

// Returns the B that costs least, and its regions, one for each of `rows`. Throws psm::Error if a region does
// not fit the slots.
DenseShape choose_dense_shape(size_t slots, int features, int inputs, std::span<const Congruence> rows);

// The sources of dense_map: x and conj x of each input.
std::vector<program::Value> dense_sources(program::Builder&, std::span<const program::Value> x);

// The map to z. Its terms depend on the shape alone, not on the entries.
ckks::LinearTransform dense_map(const SlotMatrix&, const DenseShape&);

// 1 in the regions of these blocks of rows that are in one output, and zero elsewhere.
ckks::Plain region_mask(const DenseShape&, int output, std::span<const int> blocks);

// Matrices with the same columns, one above the other.
SlotMatrix above_one_another(std::span<const SlotMatrix>);

struct SpreadShape {
  size_t slots = 0;
  int features = 0, stack = 1, blocks = 0;  // F, R, blocks in all; 2 R F divides the slots

  int stacks() const { return (blocks + stack - 1) / stack; }
  // The block in a place of a stack; -1 behind the last.
  int block(int number, int place) const {
    const int at = number * stack + place;
    return at < blocks ? at : -1;
  }
  int columns() const { return 2 * features * stack; }
  int repetitions() const { return static_cast<int>(slots) / columns(); }
  int babies() const;
  int column(size_t slot) const;  // c; slots are cyclic
};

// The map from a stack z to a vector with the real part s. It holds U vectors of 1 and -i, so make it once
// for several stacks.
ckks::LinearTransform spreading(const SpreadShape&);

// The spread form of stack `number` of plaintexts with F features each.
ckks::Plain spread(const SpreadShape&, int number, std::span<const ckks::Plain> blocks);

// The map from s of each stack, with one output for each block of the rows. Its terms depend on the shape alone.
ckks::LinearTransform spread_map(const SlotMatrix&, const SpreadShape&);

}  // namespace psm::nn
