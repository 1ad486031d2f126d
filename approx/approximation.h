// A real function as a polynomial slot program with a certificate.
//
// An Approximation stands for a polynomial P that is close to a function f on an interval:
//
//     |P(x) - f(x)| <= error_bound()             kAbsolute
//     |P(x) / f(x) - 1| <= error_bound()         kRelative         for every x in domain()
//
// The bound is proven, not sampled; certificate() says how (each factory's header gives the argument). It
// holds for exact arithmetic on the coefficients as stored, and has an allowance for the rounding of
// evaluate().
//
// Affine convention. Multiplying by a constant costs a level, so a program neither scales its input nor its
// output; its neighbours do, in plaintexts that they multiply by anyway:
//
//     v   = input_scale() * x + input_offset()        what build() is given (adding a constant is free)
//     out = build(builder, v)                         |out| <= 1 for x in the domain (up to error_bound())
//     P(x) = output_scale() * out
//
// So put input_scale() into the plaintext that made x, add input_offset() with add_constant (or with the bias
// that is added there anyway), and put output_scale() into the next plaintext. v lies in input_range(),
// which is inside [-1, 1]: it may be refreshed before it goes in, and so may everything at a refresh
// candidate. Slots that hold no data must be inside the domain too: give them any x of the domain by masking
// what is added.
//
// P is written once, as a recipe (recipe.h), and read by evaluate(), by build() and by the counts of depth(),
// degree() and multiplications(); so they cannot differ.
//
// Immutable, cheap to copy, safe to share between threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "approx/interval.h"
#include "ckks/program/program.h"

namespace psm::approx {

enum class ErrorKind { kAbsolute, kRelative };

class Approximation {
 public:
  // What a factory states; the rest is counted.
  struct Facts {
    std::string function;     // "1/x"
    std::string method;       // "relaxed Goldschmidt, 8 levels"
    std::string certificate;  // how error_bound was proven
    Interval domain;
    Interval input_range;
    ErrorKind error_kind = ErrorKind::kAbsolute;
    double error_bound = 0;
    double input_scale = 1;
    double input_offset = 0;
    double output_scale = 1;
  };

  // What the recipe amounts to, counted by reading it.
  struct Cost {
    int depth = 0;            // levels between v and out
    long long degree = 0;     // of P
    int multiplications = 0;  // ciphertext x ciphertext, with a key-switch each (series_multiplications())
  };

  class Kernel {
   public:
    virtual ~Kernel() = default;
    virtual double evaluate(double v) const = 0;
    virtual void evaluate(std::span<double> v) const = 0;  // in place, the same bits
    virtual program::Value build(program::Builder&, program::Value v) const = 0;
    virtual double exact(double x) const = 0;
    // The coefficients of P in Chebyshev's basis, if build() is one series and nothing else.
    virtual const std::vector<double>* series() const { return nullptr; }
  };

  Approximation(Facts facts, Cost cost, std::shared_ptr<const Kernel> kernel);

  std::string name() const { return facts_.function + " by " + facts_.method; }
  const std::string& function() const { return facts_.function; }
  const std::string& method() const { return facts_.method; }
  const std::string& certificate() const { return facts_.certificate; }
  Interval domain() const { return facts_.domain; }
  ErrorKind error_kind() const { return facts_.error_kind; }
  double error_bound() const { return facts_.error_bound; }
  double input_scale() const { return facts_.input_scale; }
  double input_offset() const { return facts_.input_offset; }
  double output_scale() const { return facts_.output_scale; }
  Interval input_range() const { return facts_.input_range; }
  int depth() const { return cost_.depth; }
  long long degree() const { return cost_.degree; }
  int multiplications() const { return cost_.multiplications; }

  // P(x), in double precision, by the operations of the program (scales included).
  double evaluate(double x) const {
    return facts_.output_scale * kernel_->evaluate(facts_.input_scale * x + facts_.input_offset);
  }
  // Each of them in place, the same bits.
  void evaluate(std::span<double> x) const;
  // out for a given v: the program alone.
  double evaluate_normalised(double v) const { return kernel_->evaluate(v); }
  // f(x) itself.
  double exact(double x) const { return kernel_->exact(x); }
  // |P(x) - f(x)|, divided by |f(x)| for kRelative.
  double error_at(double x) const;

  // Appends the program to the builder; consumes depth() levels. With `what` the twin checks that v stays in
  // input_range() in the slots in which `where` is not zero (everywhere, if `where` is empty).
  program::Value build(program::Builder& builder, program::Value v, const std::string& what = {},
                       ckks::Plain where = {}) const;

  // out * y for each y, which may stand higher than v. Consumes products_depth() levels from v and at least two
  // from y: depth() + 1, and a level less where P is one series of a degree from m to 3/2 m - 1, m a power of
  // two, of at least 4. With P = R + T_m Q, deg R < m and deg Q < m / 2,
  //     P y = R y + T_m (Q y),
  // in which Q y is as deep as T_m; for two products a y instead of one.
  std::vector<program::Value> build_products(program::Builder& builder, program::Value v,
                                             std::span<const program::Value> y,
                                             const std::string& what = {}) const;
  int products_depth() const { return depth() + (divisor() == 0 ? 1 : 0); }

 private:
  int divisor() const;  // m; 0: P is not divided

  Facts facts_;
  Cost cost_;
  std::shared_ptr<const Kernel> kernel_;
};

// Relinearisations of one Series instruction, by the plan that the evaluator follows
// (ckks/poly/series_plan.h).
int series_multiplications(const std::vector<double>& coefficients);

}  // namespace psm::approx
