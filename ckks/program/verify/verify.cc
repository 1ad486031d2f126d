#include "ckks/program/verify/verify.h"

#include <algorithm>
#include <bit>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ckks/base/error.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/bootstrap/sparse_bootstrapper.h"

namespace psm::program {
namespace {

// Where a kind of bootstrap begins and ends, and its keys.
struct Ends {
  ckks::Level entry = 0, output = 0;
  ckks::KeyRequest keys;
};

class Verifier {
 public:
  Verifier(const ckks::Context& context, EntryPoint& entry)
      : context_(context), entry_(entry), plan_(entry.plan) {}

  void run(std::map<ckks::BootstrapKind, Ends>& bootstraps) {
    const Program& program = plan_.program;
    try {
      check_values();
      validate(program);
      for (size_t i = 0; i < program.instructions.size(); ++i) check_instruction(i, bootstraps);
      for (const NamedValue& input : program.inputs)
        if (!inputs_.contains(input.value.id))
          fail(message("input '", input.name, "' is no input instruction"));
      if (inputs_.size() != program.inputs.size()) fail("it has inputs without a name");
      check_arguments();
      check_keys(bootstraps);
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
    for (size_t v = 0; v < plan_.level.size(); ++v) {
      const auto fits = [&](size_t count) { return std::has_single_bit(count) && count <= program.slots; };
      if (!fits(program.value_period[v]) || !fits(program.value_block[v]) ||
          program.value_block[v] > program.value_period[v])
        fail(message("value ", v, " has period ", program.value_period[v], " and blocks of ",
                     program.value_block[v]));
    }
  }

  ckks::Level level(Value value) const { return plan_.level[static_cast<size_t>(value.id)]; }

  void check_instruction(size_t place, std::map<ckks::BootstrapKind, Ends>& bootstraps) {
    const Instruction& i = plan_.program.instructions[place];
    const ckks::Level from = plan_.argument_level[place];
    if (i.opcode == Opcode::kRefresh) fail(place, "it was never planned");
    if (i.opcode == Opcode::kInput) inputs_.insert(i.results[0].id);
    if (i.opcode == Opcode::kLinear) check_offsets(place, *i.linear);
    if (i.opcode == Opcode::kSeries && i.series->coefficients.size() > kMostCoefficients)
      fail(place, message("a series of ", i.series->coefficients.size(), " coefficients"));
    if (from < 0 || from > context_.max_level()) fail(place, message("it computes at level ", from));
    for (Value argument : i.arguments)
      if (level(argument) < from)
        fail(place, message("value ", argument.id, " has level ", level(argument), ", not ", from));
    ckks::Level highest = from - depth(i);
    if (i.opcode == Opcode::kBootstrap) {
      const Ends& ends = ends_of(i.bootstrap, bootstraps);
      if (from != ends.entry) fail(place, message("it enters at level ", from, ", not ", ends.entry));
      highest = ends.output;
    }
    for (Value result : i.results) {
      const bool may_be_lower = i.opcode == Opcode::kBootstrap;
      if (level(result) < 0 || level(result) > highest || (!may_be_lower && level(result) != highest))
        fail(place, message("its result ", result.id, " has level ", level(result), ", not ", highest));
      check_period(place, i, result);
    }
  }

  // The longest period that goes in comes out, unless the instruction may close a period.
  void check_period(size_t place, const Instruction& i, Value result) const {
    const bool closes = i.opcode == Opcode::kAdd || i.opcode == Opcode::kSumOfRotations;
    if (i.opcode == Opcode::kInput || closes) return;
    size_t longest = std::max<size_t>(1, i.plain.period());
    const auto argument = [&](Value v) {
      longest = std::max(longest, plan_.program.value_period[static_cast<size_t>(v.id)]);
    };
    if (i.opcode == Opcode::kLinear) {
      for (const ckks::TransformTerm& term : i.linear->terms) {
        if (i.results[static_cast<size_t>(term.output)] != result) continue;
        longest = std::max(longest, term.weight.period());
        argument(i.arguments[static_cast<size_t>(term.input)]);
      }
    } else if (i.opcode == Opcode::kBootstrap) {
      const auto own = std::find(i.results.begin(), i.results.end(), result) - i.results.begin();
      argument(i.arguments[static_cast<size_t>(own)]);
    } else {
      for (Value v : i.arguments) argument(v);
    }
    if (plan_.program.value_period[static_cast<size_t>(result.id)] < longest)
      fail(place, message("its result ", result.id, " repeats with period ", longest, " at best"));
  }

  void check_offsets(size_t place, const ckks::LinearTransform& map) const {
    const auto slots = static_cast<int64_t>(plan_.program.slots);
    for (const ckks::TransformTerm& term : map.terms)
      if (term.giant <= -slots || term.giant >= slots || term.baby <= -slots || term.baby >= slots)
        fail(place, "it rotates by more than all slots");
  }

  const Ends& ends_of(const ckks::BootstrapKind& kind, std::map<ckks::BootstrapKind, Ends>& all) const {
    const auto [found, is_new] = all.try_emplace(kind);
    if (!is_new) return found->second;
    if (kind.sparse()) {
      const ckks::SparseBootstrapPlan plan(context_, kind);
      found->second = {plan.entry_level(), plan.output_level(), plan.key_request()};
    } else {
      const ckks::BootstrapPlan plan(context_);
      found->second = {plan.entry_level(), plan.output_level(), plan.key_request()};
    }
    return found->second;
  }

  void check_arguments() const {
    if (entry_.argument.empty() != entry_.by_argument.empty()) fail("its argument has no values, or no name");
    for (const Constants& constants : entry_.by_argument)
      for (const auto& [place, i] : exchanged(plan_.program, constants))
        if (i.opcode != Opcode::kAddPlain && i.opcode != Opcode::kMultiplyPlain &&
            i.opcode != Opcode::kRotate)
          fail(place, "its argument exchanges what it may not");
  }

  void check_keys(const std::map<ckks::BootstrapKind, Ends>& bootstraps) {
    const Program& program = plan_.program;
    plan_.keys = {};
    for (size_t i = 0; i < program.instructions.size(); ++i)
      request_keys(program.instructions[i], context_.chain(), plan_.argument_level[i], plan_.keys);
    for (const Constants& constants : entry_.by_argument)
      for (const auto& [place, i] : exchanged(program, constants))
        request_keys(i, context_.chain(), plan_.argument_level[place], plan_.keys);
    ckks::KeyRequest all = plan_.keys;
    for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan_)) all.merge(bootstraps.at(kind).keys);
    const ckks::KeyRequest& asked = entry_.keys;
    if (asked.encapsulation != all.encapsulation ||
        asked.relinearisation_levels != all.relinearisation_levels ||
        asked.galois_levels != all.galois_levels)
      fail(message("it asks for ", asked.count(context_.chain()), " keys, its instructions take ",
                   all.count(context_.chain()), ", or others"));
  }

  static constexpr size_t kMostCoefficients = 4096;
  const ckks::Context& context_;
  EntryPoint& entry_;
  Plan& plan_;
  std::set<int> inputs_;
};

}  // namespace

void verify(ProgramFile& file, const ckks::Context& context) {
  if (file.entries.empty()) throw Error("it has no entry point; compile the program again");
  std::map<ckks::BootstrapKind, Ends> bootstraps;
  std::set<std::string> names;
  for (EntryPoint& entry : file.entries) {
    if (!names.insert(entry.name).second)
      throw Error(message("it has two entry points ", entry.name, "; compile the program again"));
    Verifier(context, entry).run(bootstraps);
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

size_t peak_value_bytes(const Plan& plan, const ckks::Chain& chain) {
  size_t live = 0, peak = 0;
  const auto bytes = [&](Value value) {
    return chain.ciphertext_bytes(plan.level[static_cast<size_t>(value.id)]);
  };
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    for (Value result : plan.program.instructions[i].results) live += bytes(result);
    peak = std::max(peak, live);
    for (Value value : plan.last_use[i]) live -= bytes(value);
  }
  return peak;
}

}  // namespace psm::program
