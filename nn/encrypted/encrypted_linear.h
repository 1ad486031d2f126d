// A real matrix on complex slots: y = A x + B conj(x), by baby steps and giant steps.
//
// Packing. A ciphertext holds tokens of F complex features, token major: slot = t F + f. A vector wider than
// F spreads over several ciphertexts, features [c F, (c + 1) F) in ciphertext c. F is a power of two.
//
// Equation. With z = (re, im) of each complex feature, a real matrix W in blocks W11 (re from re), W12 (re
// from im), W21, W22 is
//     A = ((W11 + W22) + i (W21 - W12)) / 2,      B = ((W11 - W22) + i (W21 + W12)) / 2.
// Feature offsets do not wrap inside a token. So diagonal s in (-F, F) has the entries (f, f + s) inside the token:
//     y = sum_s  diag_s(A) . rot_s(x)  +  diag_s(B) . rot_s(conj x).
// s = g B + b or g B + b - F with babies 0 <= b < B and giants g B, 0 <= g < F / B: the four sources
// x, conj x, rot_{-F} x, rot_{-F} conj x share the offsets b, and the plaintexts have period F.
// A real x has the sources x and rot_{-F} x, with A + B. A real y is 2 Re(A x), because then B is conj(A).
//
// Levels: 1. Key-switches: 3 full for each input ciphertext (sources), 4 (B - 1) hoisted for each input, and
// F / B - 1 for each output; 1 and 2 (B - 1) for a real input, 1 more for a real output.  Rotation keys: conjugation, -F,
// 1 .. B - 1 and multiples of B.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"

namespace psm::nn {

// A real matrix between features in slot order. Entry (2 r + p, 2 c + q) is the weight from part q (0 real, 1
// imaginary) of complex feature c to part p of complex feature r. Without entries it is a shape only, for the meter.
struct SlotMatrix {
  int rows = 0, columns = 0;    // complex features, multiples of F
  std::vector<double> entries;  // (2 rows) x (2 columns), row major; or empty
  // Which rows and columns of a shape hold features, and not only zeros; empty for all.
  std::vector<bool> row_used = {}, column_used = {};
  // So many of the last, in whole ciphertexts, have no imaginary parts: entries from and to these are zero.
  int real_rows = 0, real_columns = 0;
};

// The cost of a hoisted key switch, roughly, as a share of a full one.
constexpr double kHoistedSwitch = 0.35;

// Returns the B that costs least, counting the memory of keys.
int choose_linear_babies(int features, size_t sources, int outputs);

// Entry (row, column) of A, or of B.
ckks::Complex complex_entry(const SlotMatrix&, int row, int column, bool of_b);

// The sources of encrypted_linear: x, conj x, rot_{-F} x, rot_{-F} conj x of each ciphertext, in this order, without the
// conjugates if it is real. The matrix says which are.
std::vector<program::Value> linear_sources(program::Builder&, std::span<const program::Value> x,
                                           const SlotMatrix&);

// The map of matrices with the same columns. Its outputs are the ciphertexts of the first matrix, then of the
// second, and so on; of a real one A x.
ckks::LinearTransform linear_map(std::span<const SlotMatrix> matrices, int features, int babies);

// Makes y of z for the last `reals` ciphertexts: 2 Re(z).
void take_real_parts(program::Builder&, std::span<program::Value> z, int reals);

// Makes the sources and applies the map: one Linear instruction for all matrices. x.size() * F = columns.
std::vector<program::Value> encrypted_linear(program::Builder&, std::span<const program::Value> x,
                                             std::span<const SlotMatrix> matrices);

// Sums over blocks of neighbouring features, replicated to every slot of the block:
//
//     y[t, f] = sum over f' in the block of f of  weight[f'] x[t, f'],   blocks [k S, (k + 1) S)
//
// A block-diagonal matrix of real rows, by baby steps 0 <= b < B and giant steps g B in [-S, S). Block S = F
// gives the sum over a token (LayerNorm's variance), S = features of a head the row sums of attention. weight has
// `features` entries. B is chosen; S and features are powers of two.
//
// Sums of several inputs, at most S, gather in one output: share c of each block, share_of_block(S, inputs) slots, has
// the sum of input c; shares that are left have the last input's.
//
// Levels: 1. Key-switches: B - 1 hoisted for each input and 2 S / B - 1 full.
ckks::LinearTransform block_sum_map(std::span<const double> weight, int block, int inputs = 1);

// Slots of a block for each of so many ciphertexts, whose number is rounded up to a power of two.
int share_of_block(int block, int count);

// The inverse of gathering, for values that are equal in a share: output c has share c of each block in all of the block.
//
// Levels: 1. Key-switches: 2 bit_ceil(outputs) - 2 hoisted.
ckks::LinearTransform share_map(int block, int outputs);

}  // namespace psm::nn
