// One recipe of a row's weights, three readers: what approx/recipe.h is to a function.
//
// A row recipe is a type with
//
//     template <typename Rows>
//     typename Rows::Value run(Rows& rows, typename Rows::Value x) const;
//     double input_scale(double score_bound) const;
//
// that turns a row of scores x_0 .. x_{L-1} into its weights by the operations below and nothing else; f is
// an Approximation, d(f) its levels. Slots hold input_scale(R) x_j for scores |x_j| <= R.
//
//     operation                        value                                   levels in slots
//     apply(f, x, what, shift, c)      f((x_j + shift) c)                      d(f)
//     of_sum(f, x, addend, what)       f(sum_j x_j + addend), one number       1 + d(f)
//     scaled_by(x, number)             x_j number                              1, and 1 on x; divide_later: 1 on
//                                                                              what is not zero after its end
//     times(x, c)                      x_j c                                   0, in the next product
//     power(x, p)                      x_j^p                                   ceil(log2 p)
//     over_length(x)                   x_j / L                                 0, in the next product
//     half_sum(x, y)                   (x_j + y_j) / 2                         1
//     padded(x, S, rest)               x_j in S places, `rest` after its end   0
//     max_with(f, x, k, what)          max(x_j, x_{j+k}), j < k, by f ~ |x|    d(f)
//     as_input_of(f, x)                x_j, as f wants it                      1
//     less_first(x, m, f)              x_j - m_0, as f wants it                1, and 1 on m
//     refresh(x)                       x_j
//
// It is read by
//   * ClearRows:    on doubles, for evaluate();
//   * SlotRows:     appending to a program::Builder, for in_slots() (row_program.h);
//   * CountedRows:  on levels.
// The error of a row is no fourth reading: what is common to a row cancels in its weights, an argument about
// the whole (polynomial_weights.h).
#pragma once

#include <algorithm>
#include <bit>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "approx/approximation.h"
#include "attention/rows/power_softmax.h"
#include "attention/rows/row_program.h"
#include "ckks/base/error.h"

namespace psm::attention {

class ClearRows {
 public:
  using Value = std::vector<double>;
  explicit ClearRows(size_t length) : length_(length) {}

  Value apply(const approx::Approximation& f, Value x, const char*, double shift = 0, double factor = 1) {
    for (double& entry : x) entry = f.evaluate((entry + shift) * factor);
    return x;
  }
  double of_sum(const approx::Approximation& f, const Value& x, double addend, const char*) {
    double sum = 0;
    for (size_t j = 0; j < length_; ++j) sum += x[j];
    return f.evaluate(sum + addend);
  }
  Value scaled_by(Value x, double number) {
    for (double& entry : x) entry *= number;
    return x;
  }
  double times(double number, double c) { return number * c; }
  Value power(Value x, int p) {
    for (double& entry : x) entry = even_power(entry, p);
    return x;
  }
  Value over_length(Value x) {
    for (double& entry : x) entry /= static_cast<double>(length_);
    return x;
  }
  Value half_sum(Value x, const Value& y) {
    for (size_t j = 0; j < x.size(); ++j) x[j] = (x[j] + y[j]) / 2;
    return x;
  }
  Value padded(Value x, int places, double rest) {
    PSM_CHECK(length_ <= static_cast<size_t>(places), length_, " scores in ", places, " places");
    x.resize(static_cast<size_t>(places), rest);
    return x;
  }
  Value max_with(const approx::Approximation& f, Value x, int offset, const char*) {
    for (int j = 0; j < offset; ++j) x[j] = (x[j] + x[j + offset] + f.evaluate(x[j] - x[j + offset])) / 2;
    x.resize(static_cast<size_t>(offset));
    return x;
  }
  Value as_input_of(const approx::Approximation&, Value x) { return x; }
  Value less_first(Value x, const Value& m, const approx::Approximation&) {
    for (double& entry : x) entry -= m[0];
    return x;
  }
  Value refresh(Value x) { return x; }

 private:
  size_t length_;
};

class CountedRows {
 public:
  using Value = int;  // levels consumed since the scores
  // `product`: the levels of a product by plaintexts, 1 in slots, 0 where neighbours take the factors in.
  explicit CountedRows(int product) : product_(product) {}

  Value apply(const approx::Approximation& f, Value x, const char*, double = 0, double = 1) {
    return x + f.depth();
  }
  Value of_sum(const approx::Approximation& f, Value x, double, const char*) {
    return x + product_ + f.depth();
  }
  Value scaled_by(Value x, Value number) { return std::max(x + product_, number) + 1; }
  Value times(Value x, double) { return x; }
  Value power(Value x, int p) { return x + std::bit_width(static_cast<unsigned>(p - 1)); }
  Value over_length(Value x) { return x; }
  Value half_sum(Value x, Value y) { return std::max(x, y) + product_; }
  Value padded(Value x, int, double) { return x; }
  Value max_with(const approx::Approximation& f, Value x, int, const char*) { return x + f.depth(); }
  Value as_input_of(const approx::Approximation&, Value x) { return x + product_; }
  Value less_first(Value x, Value m, const approx::Approximation&) { return std::max(x, m) + product_; }
  Value refresh(Value x) { return x; }

 private:
  int product_;
};

// Levels between scores and weights: in slots, and where sums over a row and factors cost none.
template <typename Recipe>
int levels_in_slots(const Recipe& recipe) {
  CountedRows rows(/*product=*/1);
  return recipe.run(rows, 0);
}
template <typename Recipe>
int levels_between_products(const Recipe& recipe) {
  CountedRows rows(/*product=*/0);
  return recipe.run(rows, 0);
}

// A recipe that has been bound to its readers.
class RowComputation {
 public:
  virtual ~RowComputation() = default;
  virtual void evaluate(std::span<double> row) const = 0;  // scores to weights, in place
  virtual RowProgram in_slots(const RowPacking& packing) const = 0;
};

template <typename Recipe>
std::shared_ptr<const RowComputation> make_row_computation(Recipe recipe) {
  class RecipeComputation final : public RowComputation {
   public:
    explicit RecipeComputation(Recipe recipe) : recipe_(std::move(recipe)) {}
    void evaluate(std::span<double> row) const override {
      ClearRows rows(row.size());
      const std::vector<double> weights = recipe_.run(rows, {row.begin(), row.end()});
      std::copy_n(weights.begin(), row.size(), row.begin());
    }
    RowProgram in_slots(const RowPacking& packing) const override {
      const double input_scale = recipe_.input_scale(packing.score_bound);
      return {input_scale, levels_in_slots(recipe_),
              [recipe = recipe_, packing, input_scale](program::Builder& builder,
                                                       const std::vector<program::Value>& scores) {
                SlotRows rows(builder, packing);
                return rows.weights(recipe.run(rows, rows.scores(scores, input_scale)));
              }};
    }

   private:
    Recipe recipe_;
  };
  return std::make_shared<const RecipeComputation>(std::move(recipe));
}

}  // namespace psm::attention
