#include "ckks/program/verify/verify.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>
#include <set>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/bootstrap/bootstrapper.h"

namespace psm::program {
namespace {

// Where a kind of bootstrap begins and ends, and its keys.
struct Ends {
  ckks::Level entry = 0, output = 0;
  ckks::KeyRequest keys;
};

// What a forged file may ask for at most, over all of its entry points. Llama-2-7B has 2^24.6 terms.
constexpr size_t kMostCoefficients = 4096;     // of a series
constexpr size_t kMostWork = size_t{1} << 26;  // terms of transforms, coefficients of series
constexpr size_t kMostKinds = 8;               // of bootstraps
constexpr int32_t kMostValues = 1 << 20;       // of an argument

// What the entry points of a file share.
struct Shared {
  std::map<ckks::BootstrapKind, Ends> bootstraps;
  size_t work = 0;
};

class Verifier {
 public:
  Verifier(const ckks::Context& context, EntryPoint& entry, Shared& shared)
      : context_(context), entry_(entry), plan_(entry.plan), shared_(shared) {}

  void run() {
    const Program& program = plan_.program;
    try {
      check_values();
      for (size_t i = 0; i < program.instructions.size(); ++i) check_work(i);
      validate(program);
      plan_.keys = {};
      for (size_t i = 0; i < program.instructions.size(); ++i) check_instruction(i);
      std::set<int> named;
      for (const NamedValue& input : program.inputs) named.insert(input.value.id);
      if (named != inputs_ || named.size() != program.inputs.size())
        fail("its inputs are not those that its instructions read, each under one name");
      for (const RangeCheck& check : program.checks)
        if (!std::isfinite(check.lo) || !std::isfinite(check.hi) || check.lo > check.hi)
          fail(message("range check '", check.what, "' has no range"));
      check_arguments();
      check_keys();
    } catch (const Error& error) {
      throw Error(message("entry point ", entry_.name, ": ", error.what()), error.kind());
    }
    complete(plan_);
  }

 private:
  [[noreturn]] static void fail(const std::string& why) { throw Error(why + "; compile the program again"); }
  [[noreturn]] void fail(size_t place, const std::string& why) const {
    fail(message("instruction ", place, ", ", describe(plan_.program.instructions[place]), ": ", why));
  }

  void check_values() const {
    const Program& program = plan_.program;
    if (program.instructions.empty() || program.outputs.empty()) fail("it computes nothing");
    if (program.slots != static_cast<size_t>(context_.slots()) ||
        plan_.level.size() != program.values.size() ||
        plan_.argument_level.size() != program.instructions.size())
      fail("its parts do not fit one another");
    for (size_t v = 0; v < program.values.size(); ++v) {
      const size_t period = program.values[v].period, block = program.values[v].block;
      const auto fits = [&](size_t count) { return std::has_single_bit(count) && count <= program.slots; };
      if (!fits(period) || !fits(block) || block > period)
        fail(message("value ", v, " has period ", period, " and blocks of ", block));
    }
  }

  // Instructions may share a transform or a series, and each of them is looked at.
  void check_work(size_t place) {
    const Instruction& i = plan_.program.instructions[place];
    if (i.opcode == Opcode::kLinear && i.linear) shared_.work += i.linear->terms.size();
    if (i.opcode == Opcode::kSeries && i.series) {
      if (i.series->coefficients.size() > kMostCoefficients)
        fail(place, message("a series of ", i.series->coefficients.size(), " coefficients"));
      shared_.work += i.series->coefficients.size();
    }
    if (shared_.work > kMostWork) fail(place, "its transforms and series have too many terms in all");
  }

  ckks::Level level(Value value) const { return plan_.level[static_cast<size_t>(value.id)]; }
  size_t period(Value value) const { return plan_.program.values[static_cast<size_t>(value.id)].period; }

  void check_instruction(size_t place) {
    const Instruction& i = plan_.program.instructions[place];
    const ckks::Level from = plan_.argument_level[place];
    if (i.opcode == Opcode::kRefresh) fail(place, "it was never planned");
    if (i.opcode == Opcode::kInput) inputs_.insert(i.results[0].id);
    // Above lie the bootstrap's own levels.
    if (from < 0 || from > context_.compute_level()) fail(place, message("it computes at level ", from));
    for (Value argument : i.arguments)
      if (level(argument) < from)
        fail(place, message("value ", argument.id, " has level ", level(argument), ", not ", from));
    ckks::Level highest = from - depth(i);
    if (i.opcode == Opcode::kBootstrap) {
      const Ends& ends = ends_of(place);
      if (from != ends.entry) fail(place, message("it enters at level ", from, ", not ", ends.entry));
      highest = ends.output;
    }
    for (Value result : i.results) {
      const bool may_be_lower = i.opcode == Opcode::kBootstrap;
      if (level(result) < 0 || level(result) > highest || (!may_be_lower && level(result) != highest))
        fail(place, message("its result ", result.id, " has level ", level(result), ", not ", highest));
    }
    check_periods(place);
    check_offsets(place, i);
    if (i.opcode == Opcode::kSeries) check_series(place, from);
    take_keys(place, i);
  }

  // The longest period that goes in comes out, unless the instruction may close a period.
  void check_periods(size_t place) const {
    const Instruction& i = plan_.program.instructions[place];
    const bool closes = i.opcode == Opcode::kAdd || i.opcode == Opcode::kSumOfRotations;
    if (i.opcode == Opcode::kInput || closes) return;
    const std::vector<size_t> longest = least_periods(i, i.results.size(), plan_.program.values);
    for (size_t r = 0; r < i.results.size(); ++r)
      if (period(i.results[r]) < longest[r])
        fail(place, message("its result ", i.results[r].id, " repeats with period ", longest[r], " at best"));
  }

  void check_offsets(size_t place, const Instruction& i) const {
    const auto check = [&](int64_t offset) {
      if (std::abs(offset) >= static_cast<int64_t>(plan_.program.slots))
        fail(place, message("it rotates by ", offset, ", all slots or more"));
    };
    for (int offset : i.offsets) check(offset);
    if (!i.linear) return;
    for (const ckks::TransformTerm& term : i.linear->terms) check(term.giant), check(term.baby);
  }

  // Where it is evaluated, a coefficient times the prime of its level is an integer of less than 62 bits.
  void check_series(size_t place, ckks::Level from) const {
    for (const auto& node : ckks::plan_series(*plan_.program.instructions[place].series, from).nodes)
      for (const auto& term : node.terms)
        if (!(std::abs(term.coefficient) * static_cast<double>(context_.q(node.level + 1)) < 0x1p60) ||
            !std::isfinite(node.constant))
          fail(place, message("a coefficient of its series, ", term.coefficient, ", is too large"));
  }

  const Ends& ends_of(size_t place) {
    const ckks::BootstrapKind& kind = plan_.program.instructions[place].bootstrap;
    const auto [found, is_new] = shared_.bootstraps.try_emplace(kind);
    Ends& ends = found->second;
    if (!is_new) return ends;
    if (shared_.bootstraps.size() > kMostKinds)
      fail(place, message("more than ", kMostKinds, " kinds of bootstraps"));
    try {
      const ckks::BootstrapPlan plan(context_, kind);
      ends = {plan.entry_level(), plan.output_level(), plan.key_request()};
    } catch (const Error& error) {
      fail(place, error.what());
    }
    return ends;
  }

  void check_arguments() {
    const Program& program = plan_.program;
    if (entry_.argument.empty() != entry_.by_argument.empty()) fail("its argument has no values, or no name");
    if (entry_.first < 0 || entry_.first > kMostValues ||
        entry_.by_argument.size() > static_cast<size_t>(kMostValues))
      fail(message("its argument goes from ", entry_.first, " over ", entry_.by_argument.size(), " values"));
    std::map<int, size_t> by_result;
    for (size_t i = 0; i < program.instructions.size(); ++i)
      by_result.emplace(program.instructions[i].results[0].id, i);
    for (const Constants& constants : entry_.by_argument) {
      std::set<size_t> places;
      for (const Exchange& constant : constants) {
        const auto found = by_result.find(constant.result.id);
        if (found == by_result.end()) fail("its argument exchanges an instruction that is not there");
        const size_t place = found->second;
        const Instruction& own = program.instructions[place];
        if (!is_exchangeable(own, constant)) fail(place, "its argument exchanges what it may not");
        if (!places.insert(place).second) fail(place, "its argument exchanges it twice");
        if (own.plain.real() && !constant.plain.real() &&
            program.values[static_cast<size_t>(own.results[0].id)].is_real)
          fail(place, "its argument makes a real value complex");
        Instruction other = own;
        other.plain = constant.plain, other.offsets = constant.offsets;
        check_offsets(place, other);
        take_keys(place, other);
      }
    }
  }

  // Those that an instruction takes are among those that the entry asks for, which therefore bound what is kept.
  void take_keys(size_t place, const Instruction& i) {
    const ckks::KeyRequest& asked = entry_.keys;
    ckks::KeyRequest own;
    request_keys(i, context_.chain(), plan_.argument_level[place], own);
    const auto among = [](const std::set<ckks::Level>& all, const std::set<ckks::Level>& levels) {
      return std::ranges::all_of(levels, [&](ckks::Level level) { return all.contains(level); });
    };
    bool asks = among(asked.relinearisation_levels, own.relinearisation_levels);
    for (const auto& [element, levels] : own.galois_levels) {
      const auto found = asked.galois_levels.find(element);
      asks = asks && found != asked.galois_levels.end() && among(found->second, levels);
    }
    if (!asks) fail(place, "the entry point does not ask for a key that it takes");
    plan_.keys.merge(own);
  }

  void check_keys() const {
    ckks::KeyRequest all = plan_.keys;
    for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan_))
      all.merge(shared_.bootstraps.at(kind).keys);
    if (entry_.keys != all)
      fail(message("it does not ask for just the ", all.count(context_.chain()), " keys that it takes"));
  }

  const ckks::Context& context_;
  EntryPoint& entry_;
  Plan& plan_;
  Shared& shared_;
  std::set<int> inputs_;
};

}  // namespace

void verify(ProgramFile& file, const ckks::Context& context) {
  if (file.entries.empty()) throw Error("it has no entry point; compile the program again");
  Shared shared;
  std::set<std::string> names;
  for (EntryPoint& entry : file.entries) {
    if (!names.insert(entry.name).second)
      throw Error(message("it has two entry points ", entry.name, "; compile the program again"));
    Verifier(context, entry, shared).run();
  }
}

VerifiedProgram load_program(const std::string& path) {
  VerifiedProgram program{read_program(path), nullptr};
  try {
    program.context = std::make_unique<const ckks::Context>(program.file.spec);
    verify(program.file, *program.context);
  } catch (const Error& error) {
    throw Error(message(path, " is refused: ", error.what()), error.kind());
  }
  return program;
}

}  // namespace psm::program
