// A real matrix on the real parts of complex slots, whose result repeats without a mask. It does the work of
// dense_linear.h for inputs that are spread beforehand. Spreading takes a level that need not be on the
// longest path. Functions in between, such as GELU, take real and imaginary parts at once.
//
// Packing. z is a stack (dense_linear.h) of R blocks of F complex features, with period R F. Its columns are
// the R F real parts, then the R F imaginary ones. n slots have U = n / (2 R F) repetitions of them.
// Spreading turns repetition u by u B columns:
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

// The map from a stack z to a vector with the real part s. It holds U vectors of 1 and -i, so make it once
// for several stacks.
ckks::LinearTransform spreading(const SpreadShape&);

// The spread form of a stack of plaintexts with F features each. Empty places are zero.
ckks::Plain spread(const SpreadShape&, const Stack&, std::span<const ckks::Plain> blocks);

// The map from s of each stack, with one output for each block of the rows. Its terms depend on the shape alone.
ckks::LinearTransform spread_map(const SlotMatrix&, const SpreadShape&, std::span<const Stack> columns);

}  // namespace psm::nn
