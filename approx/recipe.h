// One recipe, three readers.
//
// A recipe is a type with
//
//     template <typename Arithmetic>
//     typename Arithmetic::Value run(Arithmetic& a, typename Arithmetic::Value v) const;
//
// that computes a polynomial of v with the operations below and nothing else. It is read by
//   * RealArithmetic: on one double or on several (Lanes), for evaluate();
//   * ProgramArithmetic: appending to a program::Builder, for build();
//   * CountingArithmetic: on (level, degree), for depth(), degree() and multiplications().
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "approx/approximation.h"
#include "approx/chebyshev.h"
#include "approx/lanes.h"
#include "ckks/base/error.h"

namespace psm::approx {

template <typename Real>
class RealArithmetic {
 public:
  using Value = Real;
  Value add(Value a, Value b) { return a + b; }
  Value subtract(Value a, Value b) { return a - b; }
  Value add_constant(Value a, double c) { return a + c; }
  Value negate(Value a) { return -a; }
  Value multiply_constant(Value a, double c) { return a * c; }
  Value multiply(Value a, Value b) { return a * b; }
  Value series(Value a, const std::vector<double>& c) { return clenshaw<Real>(c, a); }
  void refresh(Value&) {}
  void refresh(Value&, Value&) {}
};

class ProgramArithmetic {
 public:
  using Value = program::Value;
  explicit ProgramArithmetic(program::Builder& builder) : builder_(builder) {}
  Value add(Value a, Value b) { return builder_.add(a, b); }
  Value subtract(Value a, Value b) { return builder_.subtract(a, b); }
  Value add_constant(Value a, double c) { return builder_.add_constant(a, c); }
  Value negate(Value a) { return builder_.negate(a); }
  Value multiply_constant(Value a, double c) { return builder_.multiply_constant(a, c); }
  Value multiply(Value a, Value b) { return a == b ? builder_.square(a) : builder_.multiply(a, b); }
  Value series(Value a, const std::vector<double>& c) { return builder_.series(a, {c}); }
  void refresh(Value& a) { a = builder_.refresh(a); }
  void refresh(Value& a, Value& b) {
    const std::vector<Value> fresh = builder_.refresh(std::vector<Value>{a, b});
    a = fresh[0];
    b = fresh[1];
  }

 private:
  program::Builder& builder_;
};

class CountingArithmetic {
 public:
  struct Value {
    int level = 0;         // levels consumed since v
    long long degree = 1;  // as a polynomial of v
  };
  Value add(Value a, Value b) { return {std::max(a.level, b.level), std::max(a.degree, b.degree)}; }
  Value subtract(Value a, Value b) { return add(a, b); }
  Value add_constant(Value a, double) { return a; }
  Value negate(Value a) { return a; }
  Value multiply_constant(Value a, double) { return {a.level + 1, a.degree}; }
  Value multiply(Value a, Value b) {
    ++multiplications_;
    return {std::max(a.level, b.level) + 1, a.degree + b.degree};
  }
  Value series(Value a, const std::vector<double>& c) {
    const int degree = static_cast<int>(c.size()) - 1;
    multiplications_ += series_multiplications(c);
    return {a.level + levels_of_degree(degree), a.degree * degree};
  }
  void refresh(Value&) {}
  void refresh(Value&, Value&) {}
  int multiplications() const { return multiplications_; }

 private:
  int multiplications_ = 0;
};

// m * a for a small positive integer m, by doubling and adding: no level.
template <typename Arithmetic>
typename Arithmetic::Value times_integer(Arithmetic& a, typename Arithmetic::Value x, int m) {
  PSM_CHECK(m >= 1, "m ", m);
  if (m == 1) return x;
  const auto half = times_integer(a, x, m / 2);
  const auto even = a.add(half, half);
  return m % 2 == 0 ? even : a.add(even, x);
}

// One series.
struct SeriesRecipe {
  std::vector<double> coefficients;
  template <typename Arithmetic>
  typename Arithmetic::Value run(Arithmetic& a, typename Arithmetic::Value v) const {
    return a.series(v, coefficients);
  }
};

// Binds facts, recipe and the exact function into an Approximation.
template <typename Recipe, typename Exact>
Approximation make_approximation(Approximation::Facts facts, Recipe recipe, Exact exact) {
  class RecipeKernel final : public Approximation::Kernel {
   public:
    RecipeKernel(Recipe recipe, Exact exact) : recipe_(std::move(recipe)), exact_(std::move(exact)) {}
    double evaluate(double v) const override {
      RealArithmetic<double> arithmetic;
      return recipe_.run(arithmetic, v);
    }
    void evaluate(std::span<double> v) const override {
      RealArithmetic<Lanes> arithmetic;
      const size_t whole = v.size() / Lanes::kCount * Lanes::kCount;
      for (size_t i = 0; i < whole; i += Lanes::kCount)
        recipe_.run(arithmetic, Lanes::load(&v[i])).store(&v[i]);
      for (double& rest : v.subspan(whole)) rest = evaluate(rest);
    }
    program::Value build(program::Builder& builder, program::Value v) const override {
      ProgramArithmetic arithmetic(builder);
      return recipe_.run(arithmetic, v);
    }
    double exact(double x) const override { return exact_(x); }
    const std::vector<double>* series() const override {
      if constexpr (std::is_same_v<Recipe, SeriesRecipe>) return &recipe_.coefficients;
      return nullptr;
    }

   private:
    Recipe recipe_;
    Exact exact_;
  };
  CountingArithmetic counter;
  const CountingArithmetic::Value out = recipe.run(counter, CountingArithmetic::Value{});
  const Approximation::Cost cost{out.level, out.degree, counter.multiplications()};
  return Approximation(std::move(facts), cost,
                       std::make_shared<const RecipeKernel>(std::move(recipe), std::move(exact)));
}

}  // namespace psm::approx
