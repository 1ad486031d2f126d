// A real function as a polynomial with a certificate.
//
// An Approximation stands for a polynomial P that is close to a function f on an interval:
//
//     |P(x) - f(x)| <= error_bound()             kAbsolute
//     |P(x) / f(x) - 1| <= error_bound()         kRelative         for every x in domain()
//
// The bound is proven, not sampled; certificate() says how, and each factory's header gives the argument. It
// holds for exact arithmetic on the stored coefficients, and allows for the rounding of evaluate().
//
// Affine convention. Multiplying by a constant costs a level. So a program scales neither its input nor its
// output. Its neighbours do, in plaintexts that they multiply by anyway:
//
//     v   = input_scale() * x + input_offset()        the argument of the steps (adding a constant is free)
//     out = steps(v)                                  |out| <= 1 for x in the domain (up to error_bound())
//     P(x) = output_scale() * out
//
// So put input_scale() into the plaintext that made x, add input_offset() with add_constant (or with the bias
// that is added there anyway), and put output_scale() into the next plaintext. v lies in input_range(),
// inside [-1, 1]. So v may be refreshed, and so may every refresh candidate. Slots without data must be
// inside the domain too: mask the added constant so that they get some x of the domain.
//
// Immutable, cheap to copy, safe to share between threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "approx/interval.h"
#include "ckks/base/error.h"

namespace psm::approx {

// A polynomial as a list of steps: plain data, written once for all readers, which therefore cannot differ.
//
// Value 0 is the argument v, value i + 1 is the result of step i, and the last value is the polynomial. Three
// readers:
//   * Approximation::evaluate(): on doubles, one or eight at a time;
//   * the counts of depth(), degree() and multiplications();
//   * nn/encrypted/encrypted_function.h: as instructions of a slot program.

struct Step {
  enum class Kind { kAdd, kMultiply, kNegate, kAddConstant, kMultiplyConstant, kSeries, kRefresh };
  Kind kind = Kind::kAdd;
  int left = 0;
  int right = 0;                 // of kAdd and kMultiply
  double constant = 0;           // of kAddConstant and kMultiplyConstant
  std::vector<double> series{};  // of kSeries: its Chebyshev coefficients
};

// Writes steps; each member returns the value that it adds.
class Steps {
 public:
  using Value = int;
  static constexpr Value kArgument = 0;

  Value add(Value a, Value b) { return append({Step::Kind::kAdd, a, b}); }
  Value multiply(Value a, Value b) { return append({Step::Kind::kMultiply, a, b}); }
  Value negate(Value a) { return append({Step::Kind::kNegate, a}); }
  Value add_constant(Value a, double c) { return append({Step::Kind::kAddConstant, a, 0, c}); }
  Value multiply_constant(Value a, double c) { return append({Step::Kind::kMultiplyConstant, a, 0, c}); }
  Value series(Value a, std::vector<double> c) {
    return append({Step::Kind::kSeries, a, 0, 0, std::move(c)});
  }
  // The value may be refreshed here. Consecutive refreshes are one refresh of all their values.
  Value refresh(Value a) { return append({Step::Kind::kRefresh, a}); }
  // m a for a small positive integer m, by doubling and adding: no level.
  Value times_integer(Value a, int m) {
    PSM_CHECK(m >= 1, "m ", m);
    if (m == 1) return a;
    const Value half = times_integer(a, m / 2), even = add(half, half);
    return m % 2 == 0 ? even : add(even, a);
  }

  const std::vector<Step>& list() const { return steps_; }

 private:
  Value append(Step step) {
    steps_.push_back(std::move(step));
    return static_cast<Value>(steps_.size());
  }
  std::vector<Step> steps_;
};

enum class ErrorKind { kAbsolute, kRelative };

class Approximation {
 public:
  // The properties that a factory states; the rest is counted.
  struct Facts {
    std::string function;     // "1/x"
    std::string method;       // "relaxed Goldschmidt, 8 levels"
    std::string certificate;  // how error_bound was proven
    Interval domain;
    Interval input_range{-1, 1};
    ErrorKind error_kind = ErrorKind::kAbsolute;
    double error_bound = 0;
    double input_scale = 1;
    double input_offset = 0;
    double output_scale = 1;
  };

  Approximation(Facts facts, const Steps& steps, double (*exact)(double));

  std::string name() const { return body_->facts.function + " by " + body_->facts.method; }
  const std::string& function() const { return body_->facts.function; }
  const std::string& method() const { return body_->facts.method; }
  const std::string& certificate() const { return body_->facts.certificate; }
  Interval domain() const { return body_->facts.domain; }
  ErrorKind error_kind() const { return body_->facts.error_kind; }
  double error_bound() const { return body_->facts.error_bound; }
  double input_scale() const { return body_->facts.input_scale; }
  double input_offset() const { return body_->facts.input_offset; }
  double output_scale() const { return body_->facts.output_scale; }
  Interval input_range() const { return body_->facts.input_range; }
  int depth() const { return body_->cost.depth; }
  long long degree() const { return body_->cost.degree; }
  int multiplications() const { return body_->cost.multiplications; }

  const std::vector<Step>& steps() const { return body_->steps; }
  // The coefficients of P in Chebyshev's basis, if P is one series and nothing else; else nullptr.
  const std::vector<double>* series() const;

  // P(x), in double precision, by the steps of the program (scales included).
  double evaluate(double x) const;
  // The same for each number in place, with the same bits.
  void evaluate(std::span<double> x) const;
  // out for a given v: the steps alone.
  double evaluate_normalised(double v) const;
  // f(x) itself.
  double exact(double x) const { return body_->exact(x); }
  // |P(x) - f(x)|, divided by |f(x)| for kRelative.
  double error_at(double x) const;

 private:
  // The cost of the steps.
  struct Cost {
    int depth = 0;            // levels between v and out
    long long degree = 0;     // of P
    int multiplications = 0;  // ciphertext x ciphertext, with a key-switch each
  };
  struct Body {
    Facts facts;
    Cost cost;
    std::vector<Step> steps;
    double (*exact)(double);
  };
  static Cost cost_of(const std::vector<Step>& steps);

  std::shared_ptr<const Body> body_;
};

// `count` points of an interval, both ends included (Interval::point).
std::vector<double> points_of(const Interval& domain, int count);
// The largest error_at() over `count` points of the domain; infinite if one is not a number.
double worst_error(const Approximation& approximation, int count);

// Checks of arguments. Every factory uses them, so the messages are the same everywhere.

// The widest hi / lo of a positive interval; double precision resolves no more.
inline constexpr double kMaxRatio = 1e15;

// Throws psm::Error unless 0 < lo < hi < infinity, and hi / lo is at most kMaxRatio.
void check_positive(const Interval& domain, const std::string& function);
// Throws psm::Error unless lo < hi, both finite.
void check_interval(const Interval& domain, const std::string& function);
// Throws psm::Error unless 0 < radius < infinity.
void check_radius(double radius, const std::string& function);
// Throws psm::Error unless 0 < error < 1.
void check_error(double error, const std::string& function);

}  // namespace psm::approx
