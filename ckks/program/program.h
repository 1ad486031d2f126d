// A slot program: what is computed on encrypted slots, described once.
//
// A Program is a list of instructions in static single assignment form. A Value is one vector of n = N/2
// complex slots. The instructions are those that CKKS can do. The same program is run by
//   * the twin             (twin.h): on vectors of complex doubles, with range checks and injected noise;
//   * the meter (meter.h): on levels alone, for key switches, keys, bytes, seconds;
//   * the encrypted machine (encrypted_machine.h): on ciphertexts, with public evaluation keys only.
//
// A program says nothing about levels. planner.h decides which Refresh candidates become bootstraps, and
// gives every value the lowest level that its uses need. Depth of an instruction, in levels:
//   1   MultiplyPlain, Multiply, SumOfProducts, Linear   (one rescale each, after all sums)
//   ceil(log2(degree + 1))   Series
//   0   everything else.
// It says nothing about scales either, because they are canonical (scheme/chain/context.h).
//
// Ranges. A value that is refreshed must have |re| <= 1 and |im| <= 1, and the argument of a Series lies in
// [-1, 1]: constants are folded into neighbouring plaintexts, where they cost no level.
//
// Notation: rot_k moves slot s + k to slot s (indices modulo n); x * y is the product slot by slot.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ckks/linalg/linear_transform.h"
#include "ckks/poly/series.h"
#include "ckks/scheme/chain/bootstrap_kind.h"

namespace psm::program {

struct Value {
  int id = -1;
  bool valid() const { return id >= 0; }
  friend bool operator==(Value, Value) = default;
};

enum class Opcode {
  kInput,           // () -> x                      a ciphertext of the client
  kAdd,             // (a, b) -> a + b
  kSubtract,        // (a, b) -> a - b
  kNegate,          // (a) -> -a
  kTimesI,          // (a) -> i a                   free: the monomial X^(N/2)
  kAddPlain,        // (a; p) -> a + p
  kMultiplyPlain,   // (a; p) -> p * a
  kMultiply,        // (a, b) -> a * b
  kSumOfProducts,   // (a1, b1, a2, b2, ...) -> sum_i a_i * b_i     one relinearisation, one rescale
  kRotate,          // (a; k1, ..., kr) -> rot_k1(a), ..., rot_kr(a)   hoisted: one decomposition
  kSumOfRotations,  // (a; k1, ..., kr) -> a + rot_k1(a) + ...   one decomposition, one division by P
  kConjugate,       // (a) -> conj(a)
  kLinear,          // (a1, ..., am; map) -> outputs of the transform  one rescale
  kSeries,          // (x; c) -> sum_k c_k T_k(x), x in [-1, 1]
  kRefresh,         // (a1, ..., am) -> the same values; the planner may bootstrap any of them here
  kBootstrap,  // (a) -> a, or (a, b) -> a, b for two real values packed as a + i b   (by the planner); of a kind
               // that keeps what they repeat (one of blocks takes one value)
};
constexpr size_t kOpcodeCount = 16;
const char* name(Opcode);
// Throws for an unknown opcode; `reader` names the switch. Code that treats each opcode on its own switches
// over all of them without a default, so that a new opcode must be handled everywhere.
[[noreturn]] void refuse_opcode(const char* reader, Opcode);

constexpr size_t kMostSummed = 8;  // terms of kSumOfRotations: 2, 4 or 8

// The steps of a bootstrap of all slots, which may run in different places. Files hold whole bootstraps.
enum class BootstrapStep {
  kWhole,
  kParts,    // (a) -> re(a), im(a) after CoeffsToSlots, or (a, b) -> a, b, packed as a + i b until then
  kEvalMod,  // of one part
  kJoin,     // (re, im) -> re + i im
};

struct Instruction {
  Opcode opcode{};
  std::vector<Value> arguments{};
  std::vector<Value> results{};
  ckks::Plain plain{};                                    // kAddPlain, kMultiplyPlain
  std::vector<int> offsets{};                             // kRotate, kSumOfRotations
  std::shared_ptr<const ckks::LinearTransform> linear{};  // kLinear; offsets modulo the slots
  std::shared_ptr<const ckks::Series> series{};           // kSeries
  ckks::BootstrapKind bootstrap{};                        // kBootstrap
  BootstrapStep step{};                                   // kBootstrap
  std::string label{};  // "layer 0 / attention / scores", for ledger and errors
};

// A promise about a value that the twin checks: lo <= re <= hi, and im too if the value is complex, in every
// slot in which `where` is not zero. An empty Plain means everywhere.
struct RangeCheck {
  Value value;
  double lo = -1, hi = 1;
  std::string what;  // "layer 0: denominator of PowerSoftmax"
  ckks::Plain where;
};

// The size of one value of a program in the clear.
struct Observation {
  double max_abs = 0;
  double min_re = 0, max_re = 0;
  double min_im = 0, max_im = 0;
  double rms = 0;  // sqrt(mean |x|^2) over the slots
};

struct NamedValue {
  std::string name;
  Value value;
};

// What is known of a value.
struct ValueFacts {
  bool is_real = false;  // imaginary parts are zero (up to noise)
  size_t period = 1;     // the slots repeat with it, a power of two; `slots` if nothing is known
  size_t block = 1;      // this many adjacent slots are equal, a power of two; 1 if nothing is known

  friend bool operator==(const ValueFacts&, const ValueFacts&) = default;
};

struct Program {
  size_t slots = 0;
  std::vector<Instruction> instructions;  // in an order that defines before it uses
  std::vector<NamedValue> inputs, outputs;
  std::vector<RangeCheck> checks;
  std::vector<ValueFacts> values;  // by value id

  int value_count() const { return static_cast<int>(values.size()); }
};

// Some results of an instruction whose results do not need one another (kRotate, kLinear, kRefresh), with what they
// take of its arguments, offsets and terms.
Instruction part_of(const Instruction&, const std::vector<size_t>& results);

// Levels that an instruction consumes between its arguments and its results.
int depth(const Instruction&);
// The levels on the longest path from an input to an output, without bootstraps.
int longest_path(const Program&);

// Throws psm::Error if a program is not well formed: a value used before it is defined or defined twice, a
// wrong number of arguments, a period that does not divide n, a term of a map out of range. The error names
// the instruction and its label. Builder::finish calls it.
void validate(const Program&);

// The same of one plaintext and of one map, which the error calls `where`.
void validate_plain(const ckks::Plain&, size_t slots, const std::string& where);
void validate_linear(const ckks::LinearTransform&, size_t inputs, size_t outputs, size_t slots,
                     const std::string& where);

// The periods of an instruction's results, as they follow from those of all values; a sum may close a shorter one.
std::vector<size_t> least_periods(const Instruction&, size_t results, const std::vector<ValueFacts>& values);

// "multiply [layer 0 / attention]" : how errors and ledgers name an instruction.
std::string describe(const Instruction&);

// What one instruction has in place of its own in another run of the program, such as at another position in a text.
struct Exchange {
  Value result;                // the instruction's first
  ckks::Plain plain{};         // of kAddPlain and kMultiplyPlain, with the same period
  std::vector<int> offsets{};  // of kRotate, with the same number
};
using Constants = std::vector<Exchange>;

// Whether the instruction may have this in another run.
bool is_exchangeable(const Instruction&, const Exchange&);
// Throws psm::Error if a constant fits no instruction.
Program with_constants(Program, const Constants&);
// The changed instructions of a program or its plan, by place.
std::map<size_t, Instruction> exchanged(const Program&, const Constants&);

// Stores the vectors of a program that is being built, so that they need not stay in memory
// (ckks/program/file/constants.h). Shapes without values are left as they are.
class PlainKeeper {
 public:
  virtual ~PlainKeeper() = default;
  virtual ckks::Plain keep(const ckks::Plain&) = 0;
};

// Builds a Program. Every member appends at most one instruction and returns its results; add_all,
// twice_real_part, sum_over_rotations and sum_of_rotations append a few. A request that cannot be met (a
// value of another builder, a period that does not divide n) throws psm::Error. Realness is inferred: sums,
// products, rotations, series and maps of real values with real weights are real. Periods are inferred too: a
// result has the longest period of its arguments and plaintexts.
class Builder {
 public:
  // With a keeper, the program holds the keeper's vectors instead of those given.
  explicit Builder(size_t slots, PlainKeeper* keeper = nullptr);

  // `period`: a power of two with which the client must repeat the slots; 0: all slots.
  Value input(const std::string& name, bool real = false, size_t period = 0);
  void output(const std::string& name, Value);

  Value add(Value, Value);
  Value add_all(std::span<const Value>);  // balanced tree of kAdd
  Value subtract(Value, Value);
  Value negate(Value a) { return append({.opcode = Opcode::kNegate, .arguments = {a}}, is_real(a)); }
  Value times_i(Value a) { return append({.opcode = Opcode::kTimesI, .arguments = {a}}, false); }
  Value add_plain(Value a, ckks::Plain p) { return with_plain(Opcode::kAddPlain, a, std::move(p)); }
  Value add_constant(Value a, ckks::Complex c) { return add_plain(a, ckks::Plain::constant(c)); }
  Value multiply_plain(Value a, ckks::Plain p) { return with_plain(Opcode::kMultiplyPlain, a, std::move(p)); }
  Value multiply_constant(Value a, ckks::Complex c) { return multiply_plain(a, ckks::Plain::constant(c)); }
  Value multiply(Value, Value);
  Value square(Value a) { return multiply(a, a); }
  Value sum_of_products(std::span<const std::pair<Value, Value>>);
  Value rotate(Value a, int offset) { return rotate_all(a, {&offset, 1})[0]; }  // offset 0: the value itself
  std::vector<Value> rotate_all(Value, std::span<const int> offsets);  // hoisted; an offset 0 is free
  Value conjugate(Value);                                              // a real value is its own conjugate
  Value twice_real_part(Value a) { return mark_real(add(a, conjugate(a))); }
  // sum_k rot_{k period}(a) over the repetitions of `period` in that of a, sum_of_rotations() of them. The sum
  // repeats with `period`.
  Value sum_over_rotations(Value a, size_t period);
  // sum over k < R of rot_{k step}(a), R = count a power of two. Takes sigma(R) = 3/2 log2 R hoisted key
  // switches, 5/2 more if log2 R is odd, but 1 for R = 2.
  Value sum_of_rotations(Value a, int step, int count);
  std::vector<Value> linear(std::span<const Value> inputs, ckks::LinearTransform);
  Value series(Value, ckks::Series);
  std::vector<Value> refresh(std::span<const Value>);
  Value refresh(Value a) { return refresh(std::span<const Value>(&a, 1))[0]; }

  void check_range(Value, double lo, double hi, std::string what, ckks::Plain where = {});
  // States that the imaginary part is zero, which the rules of inference cannot see.
  Value mark_real(Value);
  // States that slots are equal in blocks of this many, a power of two. No rule infers this; refresh() keeps it.
  Value mark_blocks(Value, size_t block);

  size_t slots() const { return program_.slots; }
  bool is_real(Value value) const { return facts(value).is_real; }
  size_t period(Value value) const { return facts(value).period; }
  Program finish() &&;

  // Labels nest: while a Scope lives, instructions are labelled "outer / inner".
  class Scope {
   public:
    Scope(Builder&, const std::string& label);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Builder& builder_;
    size_t previous_length_;
  };

 private:
  Value append(Instruction one, bool real) { return append(std::move(one), std::vector<char>{real})[0]; }
  std::vector<Value> append(Instruction, const std::vector<char>& real);  // by result
  void require(Value) const;
  const ValueFacts& facts(Value value) const {
    require(value);
    return program_.values[value.id];
  }
  Value with_plain(Opcode, Value, ckks::Plain);
  ckks::Plain kept(ckks::Plain) const;
  Program program_;
  PlainKeeper* keeper_;
  std::string label_;
};

}  // namespace psm::program
