// Rows of scores in slots, and the reader that turns a recipe of their weights (row_recipe.h) into a slot
// program: every form of polynomial_weights.h on ciphertexts.
//
// Packing. slot r S + j of ciphertext m holds input_scale x_e, x_e score number e = m S + j of row r, |x_e| <= R;
// S is a power of two and all values are real. Row r has L_r entries; the places after them are zero, going in
// and coming out: the multiplying mask (eq. LengthAgnosticMaskedAttention), which the product that makes the
// scores carries. One ciphertext a row is the simple case; with S the features of a head, lengths t + 1 and
// more ciphertexts it is the transformer's own packing of scores (encrypted_attention.h).
//
// Scales. A slot holds its value over a unit, which products by plaintexts that are there anyway take in:
// 1/L, an approximation's own scales and masks cost no level of their own. Values at refresh candidates stay
// within [-1, 1].
//
// A sum over a row, replicated to its places, is a block-diagonal map (nn/encrypted/encrypted_sum.h) of one
// level. The largest of a row is gathered in place 0, first over the ciphertexts, then by rotations S/2, S/4,
// .. 1, and spread from there, by such a map too. The model's attention (encrypted_block.h) is PowerSoftmax
// alone and has 1/L and all masks in its scores; here is every form, so that all can be planned, predicted and
// run side by side.
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
  int ciphertexts = 1;       // that hold a row's places
  // A row's last factor stays apart, for whoever multiplies what the weights have been summed to, one value
  // for many. Normalise and square has none: it squares its last quotient.
  bool divide_later = false;
  // p: slots hold L_r^(-1/p) times as much, as the model's masks give it, and 1/L costs x^p nothing.
  int length_root = 0;
};

// The weights of a row are unit * slots * factor; with divide_later alone are there a unit other than 1 and a
// factor, the same number in all places of a row.
struct RowWeights {
  std::vector<program::Value> slots;  // by ciphertext
  program::Value factor;              // none: 1
  double unit = 1;
};

struct RowProgram {
  double input_scale = 1;
  int levels = 0;  // between scores and weights, without refreshes
  std::function<RowWeights(program::Builder&, const std::vector<program::Value>&)> build;
};

// Reads a row recipe into a program; the operations are row_recipe.h's.
class SlotRows {
 public:
  struct Value {
    std::vector<program::Value> slots;  // by ciphertext; one for a number of each row
    double unit = 1;                    // what it stands for is unit * slots,
    bool over_length = false;           // divided by L,
    bool fresh = false;                 // and it needs no refresh yet
    bool ends_in_zeros = false;         // after the row's end
    bool has_length = false;            // 1/L is in the slots
    program::Value factor{};            // by factor_unit times which it is still to be multiplied
    double factor_unit = 1;
  };
  // Throws psm::Error unless S and the number of lengths are powers of two, if they do not divide the slots, or a
  // length is not in 1 .. S times the ciphertexts.
  SlotRows(program::Builder& builder, const RowPacking& packing);

  Value scores(std::vector<program::Value> slots, double input_scale) const;
  RowWeights weights(Value x);

  Value apply(const approx::Approximation& f, const Value& x, const char* what, double shift = 0,
              double factor = 1);
  Value of_sum(const approx::Approximation& f, const Value& x, double addend, const char* what);
  Value scaled_by(const Value& x, const Value& number);
  Value times(Value x, double c) const;
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
  // The slots of ciphertext m: `factor`, divided by the length if wanted, in the places of a row; `rest` in
  // those after them.
  std::vector<double> places(size_t m, double factor, bool over_length, double rest = 0) const;
  std::vector<double> everywhere(double factor, bool over_length) const;
  std::vector<program::Value> times_places(const Value& x, double factor);  // unit * factor x
  // sum over a row of f(x), f a weight for each place of each ciphertext; or one weight for all of them.
  program::Value row_sum(const std::vector<program::Value>& x,
                         const std::vector<std::vector<double>>& weights);
  Value divided(const Value& x);  // with no factor left apart, and the unit 1
  std::vector<program::Value> multiply_all(const std::vector<program::Value>& x, program::Value y);

  program::Builder& builder_;
  const RowPacking& packing_;
};

// The rows of scores as the slots of each ciphertext (a client's side, and tests): rows[r] has L_r entries.
std::vector<std::vector<ckks::Complex>> pack_rows(const RowPacking&, double input_scale,
                                                  std::span<const std::vector<double>> rows);

}  // namespace psm::attention
