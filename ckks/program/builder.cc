#include <algorithm>
#include <bit>

#include "ckks/base/error.h"
#include "ckks/program/program.h"

namespace psm::program {

Builder::Builder(size_t slots, PlainKeeper* keeper) : keeper_(keeper) {
  if (slots < 2 || !std::has_single_bit(slots))
    throw Error(message("a program on ", slots, " slots: their number must be a power of two, at least 2"));
  program_.slots = slots;
}

void Builder::require(Value value) const {
  if (value.id < 0 || value.id >= program_.value_count())
    throw Error(message("value ", value.id, " does not belong to this program (label '", label_,
                        "'); use values that its own builder returned"));
}

std::vector<Value> Builder::append(Instruction instruction, const std::vector<char>& real) {
  for (Value argument : instruction.arguments) require(argument);
  const std::vector<size_t> periods = least_periods(instruction, real.size(), program_.values);
  for (size_t r = 0; r < real.size(); ++r) {
    instruction.results.push_back(Value{program_.value_count()});
    program_.values.push_back({real[r] != 0, periods[r]});
  }
  instruction.label = label_;
  program_.instructions.push_back(std::move(instruction));
  return program_.instructions.back().results;
}

Value Builder::input(const std::string& name, bool real, size_t period) {
  if (period != 0 && (!std::has_single_bit(period) || period > program_.slots))
    throw Error(message("input '", name, "' of period ", period, " on ", program_.slots,
                        " slots: a period is a power of two that divides them"));
  const Value value = append({.opcode = Opcode::kInput}, real);
  program_.values[value.id].period = period == 0 ? program_.slots : period;
  program_.inputs.push_back({name, value});
  return value;
}

void Builder::output(const std::string& name, Value value) {
  require(value);
  program_.outputs.push_back({name, value});
}

ckks::Plain Builder::kept(ckks::Plain plain) const {
  return keeper_ == nullptr || !plain.has_data() ? plain : keeper_->keep(plain);
}

Value Builder::add(Value a, Value b) {
  return append({.opcode = Opcode::kAdd, .arguments = {a, b}}, is_real(a) && is_real(b));
}

Value Builder::add_all(std::span<const Value> values) {
  if (values.empty()) throw Error(message("a sum of no values (label '", label_, "'); give at least one"));
  std::vector<Value> row(values.begin(), values.end());
  require(row[0]);
  while (row.size() > 1) {
    std::vector<Value> next;
    for (size_t i = 0; i + 1 < row.size(); i += 2) next.push_back(add(row[i], row[i + 1]));
    if (row.size() % 2 != 0) next.push_back(row.back());
    row = std::move(next);
  }
  return row[0];
}

Value Builder::subtract(Value a, Value b) {
  return append({.opcode = Opcode::kSubtract, .arguments = {a, b}}, is_real(a) && is_real(b));
}

Value Builder::with_plain(Opcode opcode, Value a, ckks::Plain plain) {
  const bool real = is_real(a) && plain.real();
  validate_plain(plain, program_.slots, message(name(opcode), " [", label_, "]"));
  return append({.opcode = opcode, .arguments = {a}, .plain = kept(std::move(plain))}, real);
}

Value Builder::multiply(Value a, Value b) {
  return append({.opcode = Opcode::kMultiply, .arguments = {a, b}}, is_real(a) && is_real(b));
}

Value Builder::sum_of_products(std::span<const std::pair<Value, Value>> pairs) {
  if (pairs.empty())
    throw Error(message("a sum of no products (label '", label_, "'); give at least one pair"));
  Instruction instruction{.opcode = Opcode::kSumOfProducts};
  bool real = true;
  for (const auto& [a, b] : pairs) {
    real = real && is_real(a) && is_real(b);
    instruction.arguments.push_back(a);
    instruction.arguments.push_back(b);
  }
  return append(std::move(instruction), real);
}

std::vector<Value> Builder::rotate_all(Value a, std::span<const int> offsets) {
  const int n = static_cast<int>(program_.slots);
  const auto normal = [n](int offset) { return ((offset % n) + n) % n; };
  Instruction instruction{.opcode = Opcode::kRotate, .arguments = {a}};
  std::map<int, Value> rotated{{0, a}};
  for (int offset : offsets)
    if (rotated.try_emplace(normal(offset)).second) instruction.offsets.push_back(normal(offset));
  if (const std::vector<int> different = instruction.offsets; !different.empty()) {
    const std::vector<Value> made =
        append(std::move(instruction), std::vector<char>(different.size(), is_real(a)));
    for (size_t i = 0; i < made.size(); ++i) rotated[different[i]] = made[i];
  }
  std::vector<Value> results;
  for (int offset : offsets) results.push_back(rotated.at(normal(offset)));
  return results;
}

Value Builder::conjugate(Value a) {
  if (is_real(a)) return a;
  return append({.opcode = Opcode::kConjugate, .arguments = {a}}, false);
}

Value Builder::sum_over_rotations(Value a, size_t period) {
  if (period == 0 || !std::has_single_bit(period))
    throw Error(message("sum over rotations [", label_, "]: a period of ", period, "; give a power of two"));
  if (period >= this->period(a)) return a;
  a = sum_of_rotations(a, static_cast<int>(period), static_cast<int>(this->period(a) / period));
  program_.values[a.id].period = period;
  return a;
}

Value Builder::sum_of_rotations(Value a, int step, int count) {
  if (step < 1 || count < 1 || !std::has_single_bit(static_cast<unsigned>(count)))
    throw Error(message("sum of rotations [", label_, "]: ", count, " of ", step,
                        "; give a number that is a power of two"));
  // Sums of four, whose rotations share a decomposition and a division; one of eight where a sum of two would
  // be left over.
  for (int left = count, stride = step; left > 1;) {
    const int terms = std::countr_zero(static_cast<unsigned>(left)) % 2 == 0
                          ? 4
                          : std::min(left, static_cast<int>(kMostSummed));
    if (terms == 2) {
      a = add(a, rotate(a, stride));
    } else {
      Instruction sum{.opcode = Opcode::kSumOfRotations, .arguments = {a}};
      for (int term = 1; term < terms; ++term)
        sum.offsets.push_back(static_cast<int>(static_cast<size_t>(term * stride) % program_.slots));
      a = append(std::move(sum), is_real(a));
    }
    left /= terms;
    stride *= terms;
  }
  return a;
}

std::vector<Value> Builder::linear(std::span<const Value> inputs, ckks::LinearTransform map) {
  Instruction instruction{
      .opcode = Opcode::kLinear, .arguments = {inputs.begin(), inputs.end()}, .label = label_};
  if (inputs.empty() || map.outputs < 1)
    throw Error(message("linear [", label_, "]: a map needs inputs and outputs"));
  const auto outputs = static_cast<size_t>(map.outputs);
  validate_linear(map, inputs.size(), outputs, program_.slots, describe(instruction));
  const int n = static_cast<int>(program_.slots);
  std::vector<char> real(outputs, 1);
  for (ckks::TransformTerm& term : map.terms) {
    term.baby = ((term.baby % n) + n) % n;
    const bool input_real = is_real(inputs[term.input]);
    if (input_real) term.conjugate = false;
    if (!input_real || !term.weight.real()) real[term.output] = 0;
    term.weight = kept(std::move(term.weight));
  }
  instruction.linear = std::make_shared<const ckks::LinearTransform>(std::move(map));
  return append(std::move(instruction), real);
}

Value Builder::series(Value x, ckks::Series series) {
  const bool real = is_real(x);
  while (!series.coefficients.empty() && series.coefficients.back() == 0) series.coefficients.pop_back();
  if (series.coefficients.size() < 2)
    throw Error(message("series [", label_, "]: degree below one; add a constant instead"));
  return append({.opcode = Opcode::kSeries,
                 .arguments = {x},
                 .series = std::make_shared<const ckks::Series>(std::move(series))},
                real);
}

std::vector<Value> Builder::refresh(std::span<const Value> values) {
  Instruction instruction{.opcode = Opcode::kRefresh};
  std::map<int, Value> refreshed;
  std::vector<char> real;
  for (Value value : values) {
    if (!refreshed.try_emplace(value.id).second) continue;
    instruction.arguments.push_back(value);
    real.push_back(is_real(value));
  }
  if (const std::vector<Value> different = instruction.arguments; !different.empty()) {
    const std::vector<Value> made = append(std::move(instruction), real);
    for (size_t i = 0; i < made.size(); ++i) {
      program_.values[made[i].id].block = program_.values[different[i].id].block;
      refreshed[different[i].id] = made[i];
    }
  }
  std::vector<Value> results;
  for (Value value : values) results.push_back(refreshed.at(value.id));
  return results;
}

void Builder::check_range(Value value, double lo, double hi, std::string what, ckks::Plain where) {
  require(value);
  program_.checks.push_back({value, lo, hi, std::move(what), kept(std::move(where))});
}

Value Builder::mark_real(Value value) {
  require(value);
  program_.values[value.id].is_real = true;
  return value;
}

Value Builder::mark_blocks(Value value, size_t block) {
  require(value);
  if (!std::has_single_bit(block) || block > period(value))
    throw Error(message("[", label_, "]: blocks of ", block, " slots in a period of ", period(value),
                        "; give a power of two that divides it"));
  program_.values[value.id].block = block;
  return value;
}

Program Builder::finish() && {
  validate(program_);
  return std::move(program_);
}

Builder::Scope::Scope(Builder& builder, const std::string& label)
    : builder_(builder), previous_length_(builder.label_.size()) {
  if (!builder_.label_.empty()) builder_.label_ += " / ";
  builder_.label_ += label;
}

Builder::Scope::~Scope() { builder_.label_.resize(previous_length_); }

}  // namespace psm::program
