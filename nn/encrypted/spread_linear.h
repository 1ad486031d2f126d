// A real matrix on the real parts of complex slots, whose result repeats without a mask: what dense_linear.h
// does, for inputs that are arranged beforehand, by a level that need not be on the longest path. What is
// computed slot by slot in between, such as GELU, takes real and imaginary parts at once.
//
// Packing. z is a stack (dense_linear.h) of R blocks of F complex features, period R F; its columns are the R
// F real parts and then the R F imaginary ones. In n slots there are U = n / (2 R F) repetitions of them;
// spread, repetition u is turned by u B columns:
//     s[j] = column c(j) of z,    c(j) = (j + B floor(j / (2 R F))) mod 2 R F,         B = max(F / U, 1).
//
// Equation. All slots sum, so block o of the rows is, with W[f, c] the complex number of the two entries,
//     y_o[f] = sum over j = f mod F of  sum_{0 <= b < B}  W_o[f, c(j + b)] s[j + b].
// Over all j and b every column comes, once where U <= F (the last columns of a repetition meet the next
// one's first, and every repetition has a next one), and later comings count nothing. The sum over rotations
// by F leaves y_o in all places of F slots.
//
// Levels: 1 to spread, 1 for the map. Key-switches: about U^(1/2) hoisted and as many full to spread, B - 1
// hoisted for each input, sigma(n / F) for each output. Weights: B for each input and output.
#pragma once

#include <span>
#include <vector>

#include "ckks/program/program.h"
#include "nn/encrypted/dense_linear.h"

namespace psm::nn {

struct SpreadShape {
  size_t slots = 0;
  int features = 0, stack = 1;  // F, R; 2 R F divides the slots

  int columns() const { return 2 * features * stack; }
  int repetitions() const { return static_cast<int>(slots) / columns(); }
  int babies() const;
  int column(size_t slot) const;  // c; slots are cyclic
};

// The map from a stack z to what has s for its real part. It holds U vectors of 1 and -i: who spreads several
// keeps it.
ckks::LinearTransform spreading(const SpreadShape&);

// What it makes of a stack of plaintexts of F features each; empty places are zero.
ckks::Plain spread(const SpreadShape&, const Stack&, std::span<const ckks::Plain> blocks);

// The map from s of each stack, one output for each block of the rows. Its terms follow from the shape alone.
ckks::LinearTransform spread_map(const SlotMatrix&, const SpreadShape&, std::span<const Stack> columns);

// y from one output.
program::Value sum_over_slots(program::Builder&, program::Value, const SpreadShape&);

}  // namespace psm::nn
