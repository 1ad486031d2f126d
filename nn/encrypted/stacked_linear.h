// A real matrix on complex slots that repeat: y = A x + B conj(x) where every token of a ciphertext is the
// same one, so that rotations are cyclic in the features and one ciphertext holds several blocks of them.
//
// Packing. A vector is cut into blocks of F complex features. A stack is a ciphertext that holds R of them
// side by side and repeats: feature f of block k mod R is in slot k F + f, the period is R F. F and R are
// powers of two. A, B and SlotMatrix: encrypted_linear.h.
//
// Equation. An input is a stack of R blocks of columns, an output one of Q blocks of rows; R = 1 or Q = 1.
//     z[r F + f] = sum_{0 <= s < F}  A[row(r) F + f, column(r, s) F + (f + s) mod F] rot_s(x)[r F + f]
//                                  + the same of B and conj x
//     row(r): the output's block r mod Q;   column(r, s): the input's block (r + [f + s >= F]) mod R
// With R = 1 that is y: plaintexts alone say which block of rows a slot gets, and Q blocks cost no more
// rotations than one. With Q = 1 the R places of a slot together meet every column once, and
//     y = sum_r rot_{r F}(z)                                     Builder::sum_over_rotations(z, F).
// Inputs of different R that meet in one z are weighted by R / `places`, places the longest of them.
// s = g B + b with babies 0 <= b < B and giants g B: plaintexts of period max(R, Q) F.
//
// Levels: 1. Key-switches: a conjugation and 2 (B - 1) hoisted for each input, F / B - 1 for each output.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/encrypted_linear.h"

namespace psm::nn {

// Which block stands in each place; -1: none (zero).
using Stack = std::vector<int>;

// x, conj x of each: what stacked_map reads.
std::vector<program::Value> stacked_sources(program::Builder&, std::span<const program::Value> x);

// Steps of kStackedSources for each input.
constexpr int kStackedSources = 2;

// The map from stacks of blocks of columns to stacks of blocks of rows; `places`: over how many z is summed
// (1 where every column stack is of one block).
ckks::LinearTransform stacked_map(const SlotMatrix&, std::span<const Stack> rows,
                                  std::span<const Stack> columns, const LinearSteps&, int places = 1);

// Matrices with the same columns, one above the other.
SlotMatrix above_one_another(std::span<const SlotMatrix>);

// Vectors of one block each side by side in one period, `places` of them; zero where there are none.
ckks::Plain side_by_side(std::span<const ckks::Plain>, int places);

}  // namespace psm::nn
