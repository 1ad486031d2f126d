#include "ckks/program/program.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>

#include "ckks/base/error.h"

namespace psm::program {
namespace {

constexpr int kAny = -1;       // number above zero
constexpr int kByDegree = -1;  // of the series

struct OpcodeFigures {
  Opcode opcode;
  const char* name;
  int arguments, results, depth;
};
constexpr OpcodeFigures kOpcodes[] = {
    {Opcode::kInput, "input", 0, 1, 0},
    {Opcode::kAdd, "add", 2, 1, 0},
    {Opcode::kSubtract, "subtract", 2, 1, 0},
    {Opcode::kNegate, "negate", 1, 1, 0},
    {Opcode::kTimesI, "times i", 1, 1, 0},
    {Opcode::kAddPlain, "add plain", 1, 1, 0},
    {Opcode::kMultiplyPlain, "multiply plain", 1, 1, 1},
    {Opcode::kMultiply, "multiply", 2, 1, 1},
    {Opcode::kSumOfProducts, "sum of products", kAny, 1, 1},
    {Opcode::kRotate, "rotate", 1, kAny, 0},
    {Opcode::kSumOfRotations, "sum of rotations", 1, 1, 0},
    {Opcode::kConjugate, "conjugate", 1, 1, 0},
    {Opcode::kLinear, "linear", kAny, kAny, 1},
    {Opcode::kSeries, "series", 1, 1, kByDegree},
    {Opcode::kRefresh, "refresh", kAny, kAny, 0},
    {Opcode::kBootstrap, "bootstrap", kAny, kAny, 0},
};
static_assert(std::size(kOpcodes) == kOpcodeCount);

const OpcodeFigures& figures(Opcode opcode) {
  const auto place = static_cast<size_t>(opcode);
  if (place >= kOpcodeCount) refuse_opcode("table of opcodes", opcode);
  PSM_CHECK(kOpcodes[place].opcode == opcode, place);
  return kOpcodes[place];
}

// A bootstrap keeps what its values repeat.
void validate_bootstrap(const Instruction& instruction, const Program& program, const std::string& where) {
  const size_t count = instruction.arguments.size();
  if (count > 2) throw Error(message(where, ": ", count, " values; one bootstrap takes at most two"));
  for (Value argument : instruction.arguments)
    if (count == 2 && !program.values[argument.id].is_real)
      throw Error(
          message(where, ": value ", argument.id, " is complex; only two real values share a bootstrap"));
  const ckks::BootstrapKind& kind = instruction.bootstrap;
  if (!kind.possible(program.slots))
    throw Error(message(where, ": a bootstrap of ", kind.text(), " of ", program.slots, " is not possible"));
  if (kind.of_blocks() && count > 1)
    throw Error(message(where, ": ", count, " values; one of blocks takes one"));
  for (Value argument : instruction.arguments) {
    const size_t period = program.values[argument.id].period, block = program.values[argument.id].block;
    const bool real = program.values[argument.id].is_real;
    if (!kind.keeps(period, block, real))
      throw Error(message(where, ": value ", argument.id, ", ", real ? "real" : "complex",
                          ", repeats with period ", period, " in blocks of ", block,
                          ", which a bootstrap of ", kind.text(), " would lose"));
  }
}

}  // namespace

const char* name(Opcode opcode) { return figures(opcode).name; }

void refuse_opcode(const char* reader, Opcode opcode) {
  check_failed("a reader knows every opcode", __FILE__, __LINE__,
               message(reader, ": opcode ", static_cast<int>(opcode)));
}

std::string describe(const Instruction& instruction) {
  std::string text = name(instruction.opcode);
  if (!instruction.label.empty()) text += " [" + instruction.label + "]";
  return text;
}

Instruction part_of(const Instruction& whole, const std::vector<size_t>& results) {
  Instruction part = whole;
  const auto pick = [&](const auto& from, auto& to) {
    to.clear();
    for (size_t result : results) to.push_back(from[result]);
  };
  pick(whole.results, part.results);
  if (whole.opcode == Opcode::kRotate) pick(whole.offsets, part.offsets);
  if (whole.opcode == Opcode::kRefresh) pick(whole.arguments, part.arguments);
  if (!whole.linear) return part;
  std::vector<int> outputs(whole.results.size(), -1);  // of the whole, and their numbers in the part
  for (size_t r = 0; r < results.size(); ++r) outputs[results[r]] = static_cast<int>(r);
  std::map<int, int> inputs;  // the same, in the order of their first use
  // The part divides sources if the whole does: the same bits.
  ckks::LinearTransform map{.outputs = static_cast<int>(results.size()),
                            .divides_sources = whole.linear->divides_sources};
  part.arguments.clear();
  for (const ckks::TransformTerm& term : whole.linear->terms) {
    if (outputs[term.output] < 0) continue;
    const auto [input, is_new] = inputs.try_emplace(term.input, static_cast<int>(inputs.size()));
    if (is_new) part.arguments.push_back(whole.arguments[term.input]);
    ckks::TransformTerm& own = map.terms.emplace_back(term);
    own.output = outputs[term.output], own.input = input->second;
  }
  part.linear = std::make_shared<const ckks::LinearTransform>(std::move(map));
  return part;
}

int depth(const Instruction& instruction) {
  const int levels = figures(instruction.opcode).depth;
  return levels == kByDegree ? instruction.series->depth() : levels;
}

int longest_path(const Program& program) {
  std::vector<int> levels(program.values.size(), 0);
  for (const Instruction& instruction : program.instructions) {
    int deepest = 0;
    for (const Value argument : instruction.arguments) deepest = std::max(deepest, levels[argument.id]);
    for (size_t i = 0; i < instruction.results.size(); ++i)
      levels[instruction.results[i].id] = instruction.opcode == Opcode::kRefresh
                                              ? levels[instruction.arguments[i].id]
                                              : deepest + depth(instruction);
  }
  int longest = 0;
  for (const NamedValue& output : program.outputs) longest = std::max(longest, levels[output.value.id]);
  return longest;
}

std::vector<size_t> least_periods(const Instruction& instruction, size_t results,
                                  const std::vector<ValueFacts>& values) {
  const auto period = [&](size_t argument) { return values[instruction.arguments[argument].id].period; };
  std::vector<size_t> least(results, std::max<size_t>(1, instruction.plain.period()));
  if (instruction.opcode == Opcode::kLinear) {
    for (const ckks::TransformTerm& term : instruction.linear->terms) {
      size_t& own = least[static_cast<size_t>(term.output)];
      own = std::max({own, term.weight.period(), period(static_cast<size_t>(term.input))});
    }
  } else if (instruction.opcode == Opcode::kRefresh || instruction.opcode == Opcode::kBootstrap) {
    for (size_t r = 0; r < results; ++r) least[r] = period(r);
  } else {
    for (size_t a = 0; a < instruction.arguments.size(); ++a)
      for (size_t& own : least) own = std::max(own, period(a));
  }
  return least;
}

bool is_exchangeable(const Instruction& own, const Exchange& other) {
  const bool takes_constants = own.opcode == Opcode::kAddPlain || own.opcode == Opcode::kMultiplyPlain ||
                               own.opcode == Opcode::kRotate;
  return takes_constants && own.offsets.size() == other.offsets.size() &&
         own.plain.period() == other.plain.period();
}

std::map<size_t, Instruction> exchanged(const Program& program, const Constants& constants) {
  std::map<int, size_t> by_result;
  for (size_t i = 0; i < program.instructions.size(); ++i)
    by_result.emplace(program.instructions[i].results.at(0).id, i);
  std::map<size_t, Instruction> changed;
  for (const Exchange& constant : constants) {
    const auto found = by_result.find(constant.result.id);
    if (found == by_result.end())
      throw Error(message("the constant for result %", constant.result.id,
                          ": no such instruction; take constants that were made with the program"));
    Instruction own = program.instructions[found->second];
    if (!is_exchangeable(own, constant))
      throw Error(message("the constant for result %", constant.result.id, ": it is no constant of ",
                          describe(own), "; take those that were made with the program"));
    own.plain = constant.plain;
    own.offsets = constant.offsets;
    changed.emplace(found->second, std::move(own));
  }
  return changed;
}

Program with_constants(Program program, const Constants& constants) {
  for (auto& [place, instruction] : exchanged(program, constants))
    program.instructions[place] = std::move(instruction);
  return program;
}

void validate_plain(const ckks::Plain& plain, size_t slots, const std::string& where) {
  if (plain.period() == 0)
    throw Error(message(where, ": the plaintext operand is empty; give it one period of values"));
  if (plain.period() > slots)
    throw Error(message(where, ": a plaintext of period ", plain.period(), " does not fit ", slots,
                        " slots; use a larger ring or a shorter period"));
}

void validate_linear(const ckks::LinearTransform& map, size_t inputs, size_t outputs, size_t slots,
                     const std::string& where) {
  if (static_cast<size_t>(map.outputs) != outputs)
    throw Error(message(where, ": the map has ", map.outputs, " outputs but ", outputs, " results"));
  std::vector<char> reached(outputs, 0);
  for (const ckks::TransformTerm& term : map.terms) {
    if (term.output < 0 || term.output >= map.outputs)
      throw Error(
          message(where, ": a term for output ", term.output, " of ", map.outputs, "; outputs count from 0"));
    if (term.input < 0 || static_cast<size_t>(term.input) >= inputs)
      throw Error(message(where, ": a term of input ", term.input, " of ", inputs, "; inputs count from 0"));
    validate_plain(term.weight, slots, where);
    reached[term.output] = 1;
  }
  for (size_t output = 0; output < reached.size(); ++output)
    if (!reached[output])
      throw Error(
          message(where, ": output ", output, " has no term; drop it, or give it a term of weight zero"));
}

void validate(const Program& program) {
  if (program.slots < 2 || !std::has_single_bit(program.slots))
    throw Error(
        message("a program on ", program.slots, " slots: their number must be a power of two, at least 2"));
  std::vector<char> defined(program.values.size(), 0);
  auto is_defined = [&](Value value) {
    return value.id >= 0 && value.id < program.value_count() && defined[value.id];
  };
  for (size_t index = 0; index < program.instructions.size(); ++index) {
    const Instruction& instruction = program.instructions[index];
    const std::string where = message("instruction ", index, ", ", describe(instruction));
    const OpcodeFigures& expected = figures(instruction.opcode);
    auto fits = [](size_t count, int wanted) {
      return wanted == kAny ? count > 0 : count == static_cast<size_t>(wanted);
    };
    if (!fits(instruction.arguments.size(), expected.arguments) ||
        !fits(instruction.results.size(), expected.results))
      throw Error(message(where, ": ", instruction.arguments.size(), " arguments and ",
                          instruction.results.size(), " results do not fit this operation"));
    for (Value argument : instruction.arguments)
      if (!is_defined(argument))
        throw Error(
            message(where, ": value ", argument.id, " is used before it is defined; reorder the program"));
    switch (instruction.opcode) {
      case Opcode::kAddPlain:
      case Opcode::kMultiplyPlain:
        validate_plain(instruction.plain, program.slots, where);
        break;
      case Opcode::kSumOfProducts:
        if (instruction.arguments.size() % 2 != 0)
          throw Error(
              message(where, ": an odd number of factors, ", instruction.arguments.size(), "; give pairs"));
        break;
      case Opcode::kRotate:
        if (instruction.offsets.size() != instruction.results.size())
          throw Error(message(where, ": ", instruction.offsets.size(), " offsets for ",
                              instruction.results.size(), " results"));
        break;
      case Opcode::kSumOfRotations:
        if (const size_t terms = instruction.offsets.size() + 1;
            terms < 2 || terms > kMostSummed || !std::has_single_bit(terms))
          throw Error(message(where, ": a sum of ", terms, " rotations; it has 2, 4 or ", kMostSummed));
        break;
      case Opcode::kLinear:
        if (!instruction.linear) throw Error(message(where, ": the map is missing"));
        validate_linear(*instruction.linear, instruction.arguments.size(), instruction.results.size(),
                        program.slots, where);
        break;
      case Opcode::kSeries: {
        if (!instruction.series || instruction.series->degree() < 1)
          throw Error(message(where, ": a series of degree below one; add a constant instead"));
        for (double coefficient : instruction.series->coefficients)
          if (!std::isfinite(coefficient))
            throw Error(message(where, ": a coefficient is not finite; fit it again"));
        break;
      }
      case Opcode::kRefresh:
      case Opcode::kBootstrap:
        if (instruction.arguments.size() != instruction.results.size())
          throw Error(message(where, ": ", instruction.arguments.size(), " arguments but ",
                              instruction.results.size(), " results; each value has one"));
        if (instruction.opcode == Opcode::kBootstrap) validate_bootstrap(instruction, program, where);
        break;
      default:  // arguments alone
        break;
    }
    for (Value result : instruction.results) {
      if (result.id < 0 || result.id >= program.value_count())
        throw Error(
            message(where, ": result ", result.id, " is outside the ", program.value_count(), " values"));
      if (is_defined(result)) throw Error(message(where, ": value ", result.id, " is defined twice"));
      defined[result.id] = 1;
    }
  }
  auto named = [&](const std::vector<NamedValue>& values, const char* kind) {
    std::map<std::string, int> seen;
    for (const NamedValue& entry : values) {
      if (!is_defined(entry.value)) throw Error(message(kind, " '", entry.name, "' is never defined"));
      if (seen[entry.name]++)
        throw Error(message(kind, " '", entry.name, "' appears twice; names must differ"));
    }
  };
  named(program.inputs, "input");
  named(program.outputs, "output");
  for (const RangeCheck& check : program.checks) {
    if (!is_defined(check.value))
      throw Error(message("range check '", check.what, "' of a value that is never defined"));
    if (check.where.period() > program.slots)
      throw Error(
          message("range check '", check.what, "': its mask is longer than ", program.slots, " slots"));
  }
}

}  // namespace psm::program
