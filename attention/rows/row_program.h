// Rows of scores in slots, and the reader that turns a recipe of their weights (row_recipe.h) into a slot
// program: every form of polynomial_weights.h on ciphertexts.
//
// Packing. slot r S + j holds input_scale x_j, x_j the j-th score of row r, |x_j| <= R; S is a power of two
// and all values are real. Row r has L_r entries; the places after them are zero, going in and coming out:
// the multiplying mask (eq. LengthAgnosticMaskedAttention), which the product that makes the scores carries.
//
// Scales. A slot holds its value over a unit, which products by plaintexts that are there anyway take in:
// 1/L, an approximation's own scales and masks cost no level of their own. Values at refresh candidates stay
// within [-1, 1].
//
// A sum over a row, replicated to its places, is a block-diagonal map (nn/encrypted/encrypted_sum.h) of one
// level. The largest of a row is gathered in place 0 by rotations S/2, S/4, .. 1 and spread from there, by
// such a map too. The transformer's own packing (encrypted_attention.h) gets the row sums of PowerSoftmax
// without that level, from products it makes anyway; the other forms exist here alone, so that all can be
// planned, metered and run side by side.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "approx/approximation.h"
#include "ckks/program/program.h"

namespace psm::attention {

struct RowPacking {
  size_t slots = 0;          // of a ciphertext
  int places = 0;            // S
  std::vector<int> lengths;  // L_r; as many as a power of two, repeated until the slots are full
  double score_bound = 0;    // R
};

struct RowProgram {
  double input_scale = 1;
  int levels = 0;  // between scores and weights, without refreshes
  std::function<program::Value(program::Builder&, program::Value)> build;
};

// Reads a row recipe into a program; the operations are row_recipe.h's.
class SlotRows {
 public:
  struct Value {
    program::Value slots;
    double unit = 1;           // what it stands for is unit * slots,
    bool over_length = false;  // divided by L,
    bool fresh = false;        // and it needs no refresh yet
  };
  // Throws psm::Error if S or the number of lengths is no power of two, they do not divide the slots, or a
  // length is not in 1 .. S.
  SlotRows(program::Builder& builder, const RowPacking& packing);

  Value scores(program::Value slots, double input_scale) const {
    return {slots, 1 / input_scale, false, true};
  }
  program::Value weights(const Value& x) const;  // they must have the unit 1

  Value apply(const approx::Approximation& f, const Value& x, const char* what, double shift = 0,
              double factor = 1);
  Value of_sum(const approx::Approximation& f, const Value& x, double addend, const char* what);
  Value scaled_by(const Value& x, const Value& number);
  Value power(const Value& x, int p);
  Value over_length(Value x) const;
  Value half_sum(const Value& x, const Value& y);
  // Throws psm::Error if the packing has another number of places.
  Value padded(const Value& x, int places, double rest);
  Value max_with(const approx::Approximation& f, const Value& x, int offset, const char* what);
  Value as_input_of(const approx::Approximation& f, const Value& x);
  Value less_first(const Value& x, const Value& m, const approx::Approximation& f);
  Value refresh(const Value& x);

 private:
  // `factor`, over the length if x is, in the places that a row has, `rest` in those after them.
  std::vector<double> places(double factor, bool over_length, double rest = 0) const;
  program::Value times_places(const Value& x, double factor);  // unit * factor x
  program::Value row_sum(program::Value x, const std::vector<double>& weight);

  program::Builder& builder_;
  const RowPacking& packing_;
};

// The rows of scores as the slots of one ciphertext (a client's side, and tests): rows[r] has L_r entries.
std::vector<ckks::Complex> pack_rows(const RowPacking&, double input_scale,
                                     std::span<const std::vector<double>> rows);

}  // namespace psm::attention
