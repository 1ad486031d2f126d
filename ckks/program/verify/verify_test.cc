#include "ckks/program/verify/verify.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "ckks/base/testing/check.h"
#include "ckks/base/testing/runfile.h"
#include "ckks/bootstrap/bootstrapper.h"
#include "ckks/program/testing/sample_program.h"

namespace psm::program {
namespace {

const VerifiedProgram& good() {
  static const VerifiedProgram program = [] {
    const std::string path = path_of("good.program");
    write_sample_program(path);
    return load_program(path);
  }();
  return program;
}

// The first entry of a file, and its parts by opcode: what the edits below change.
struct Edited {
  ProgramFile& file;
  EntryPoint& entry = file.entries[0];
  Plan& plan = entry.plan;
  Program& program = plan.program;

  size_t place(Opcode opcode) const {
    return static_cast<size_t>(std::ranges::find(program.instructions, opcode, &Instruction::opcode) -
                               program.instructions.begin());
  }
  Instruction& the(Opcode opcode) const { return program.instructions[place(opcode)]; }
  size_t result(Opcode opcode) const { return static_cast<size_t>(the(opcode).results[0].id); }
  ckks::Level& level(Opcode opcode) const { return plan.level[result(opcode)]; }
  ckks::Level& from(Opcode opcode) const { return plan.argument_level[place(opcode)]; }
  Exchange& constant() const { return entry.by_argument[1][0]; }
  void exchange(Opcode opcode, std::vector<int> offsets) const {
    constant() = {the(opcode).results[0], {}, std::move(offsets)};
  }
  void set_kind(size_t period, size_t block) const { the(Opcode::kBootstrap).bootstrap = {period, block}; }
  // T_1 and so much of T_3.
  void set_cubic(double coefficient) const { set_series({0, 1, 0, coefficient}); }
  void set_series(std::vector<double> coefficients) const {
    the(Opcode::kSeries).series = std::make_shared<const ckks::Series>(ckks::Series{std::move(coefficients)});
  }
  void set_map(const std::function<void(ckks::LinearTransform&)>& change) const {
    ckks::LinearTransform map = *the(Opcode::kLinear).linear;
    change(map);
    the(Opcode::kLinear).linear = std::make_shared<const ckks::LinearTransform>(std::move(map));
  }
  // One more, whose result is a value of its own.
  void append(Instruction i, ckks::Level from, ckks::Level to) const {
    i.results = {Value{program.value_count()}};
    program.values.push_back({true, program.slots}), plan.level.push_back(to);
    program.instructions.push_back(std::move(i)), plan.argument_level.push_back(from);
  }
};

ckks::Plain ones(size_t period) { return ckks::Plain(std::vector<ckks::Complex>(period, 1)); }

struct Rule {
  const char* broken;
  std::function<void(const Edited&)> edit;
  const char* refusal;  // what it says
};

const Rule kRules[] = {
    // Values.
    {"an entry", [](const Edited& e) { e.file.entries.clear(); }, "it has no entry point"},
    {"names of entries", [](const Edited& e) { e.file.entries.push_back(e.entry); }, "two entry points pass"},
    {"an output", [](const Edited& e) { e.program.outputs.clear(); },
     "entry point pass: it computes nothing"},
    {"the slots", [](const Edited& e) { e.program.slots /= 2; }, "entry point pass: its parts do not fit"},
    {"levels by value", [](const Edited& e) { e.plan.level.pop_back(); }, "pass: its parts do not fit"},
    {"levels by instruction", [](const Edited& e) { e.plan.argument_level.pop_back(); },
     "pass: its parts do not fit"},
    {"a period that is no power of two", [](const Edited& e) { e.program.values[0].period = 3; },
     "entry point pass: value 0 has period 3 and blocks of 1"},
    {"a period beyond the slots", [](const Edited& e) { e.program.values[0].period = 1024; },
     "has period 1024"},
    {"a block of nothing", [](const Edited& e) { e.program.values[0].block = 0; }, "and blocks of 0"},
    {"a block beyond its period", [](const Edited& e) { e.program.values[1].block = 128; },
     "and blocks of 128"},
    {"definition before use", [](const Edited& e) { e.the(Opcode::kAddPlain).arguments[0].id = 30; },
     "add plain [layer 0]: value 30 is used before it is defined"},
    {"an argument that is none", [](const Edited& e) { e.the(Opcode::kAddPlain).arguments[0].id = -7; },
     "add plain [layer 0]: value -7 is used before"},
    {"one definition", [](const Edited& e) { e.the(Opcode::kAddPlain).results[0].id = 0; },
     "add plain [layer 0]: value 0 is defined twice"},
    {"a result that is none", [](const Edited& e) { e.the(Opcode::kAddPlain).results[0].id = 1 << 30; },
     "add plain [layer 0]: result 1073741824 is outside"},
    {"an output that is none", [](const Edited& e) { e.program.outputs[0].value.id = -1; },
     "pass: output 'deep' is never defined"},
    {"an output under one name", [](const Edited& e) { e.program.outputs.push_back(e.program.outputs[0]); },
     "pass: output 'deep' appears twice"},
    {"the period of a product",
     [](const Edited& e) { e.program.values[e.result(Opcode::kMultiplyPlain)].period = 64; },
     "multiply plain [layer 0]: its result 2 repeats with period 512 at best"},
    {"the period of a map", [](const Edited& e) { e.program.values[e.result(Opcode::kLinear)].period = 16; },
     "linear [layer 0]: its result"},
    {"the period of a bootstrap",
     [](const Edited& e) { e.program.values[e.result(Opcode::kBootstrap)].period = 32; }, "at best"},
    // Levels.
    {"an argument that stands too low", [](const Edited& e) { e.from(Opcode::kMultiply) += 1; }, ", not "},
    {"the depth of a product", [](const Edited& e) { e.level(Opcode::kMultiplyPlain) -= 1; },
     "multiply plain [layer 0]: its result 2 has level"},
    {"the depth of a series", [](const Edited& e) { e.level(Opcode::kSeries) += 1; },
     "series [layer 0]: its result"},
    {"a level below the chain",
     [](const Edited& e) { e.from(Opcode::kInput) = e.level(Opcode::kInput) = -1; },
     "instruction 0, input: it computes at level -1"},
    {"a level of the bootstrap's own",
     [](const Edited& e) {
       e.from(Opcode::kInput) = e.level(Opcode::kInput) = good().context->compute_level() + 1;
     },
     "instruction 0, input: it computes at level"},
    // Bootstraps.
    {"a bootstrap in its place", [](const Edited& e) { e.the(Opcode::kBootstrap).opcode = Opcode::kRefresh; },
     "refresh [layer 0]: it was never planned"},
    {"its entry", [](const Edited& e) { e.from(Opcode::kBootstrap) -= 1; },
     "bootstrap [layer 0]: it enters at level 1, not 2"},
    {"its result", [](const Edited& e) { e.level(Opcode::kBootstrap) = good().context->compute_level() + 1; },
     "bootstrap [layer 0]: its result"},
    {"a pair of real values",
     [](const Edited& e) {
       Instruction& pair = e.the(Opcode::kBootstrap);
       pair.arguments.assign(2, {0}), pair.results.push_back(pair.results[0]);
     },
     "bootstrap [layer 0]: value 0 is complex"},
    {"a kind that is possible", [](const Edited& e) { e.set_kind(3, 0); }, "is not possible"},
    {"a kind that keeps the value", [](const Edited& e) { e.set_kind(32, 1); }, "would lose"},
    {"few kinds",
     [](const Edited& e) {
       const Instruction own = e.the(Opcode::kBootstrap);
       e.program.values[static_cast<size_t>(own.arguments[0].id)].block = 64;
       for (const ckks::BootstrapKind kind : std::vector<ckks::BootstrapKind>{
                {64, 1}, {128, 1}, {256, 1}, {256, 8}, {512, 8}, {256, 16}, {512, 16}, {256, 32}}) {
         Instruction other = own;
         other.bootstrap = kind;
         e.append(other, ckks::BootstrapPlan(*good().context, kind).entry_level(), 0);
       }
     },
     "bootstrap [layer 0]: more than 8 kinds of bootstraps"},
    // Constants.
    {"a plaintext", [](const Edited& e) { e.the(Opcode::kAddPlain).plain = {}; },
     "add plain [layer 0]: the plaintext operand is empty"},
    {"one that fits", [](const Edited& e) { e.the(Opcode::kAddPlain).plain = ones(1024); },
     "does not fit 512"},
    {"a rotation", [](const Edited& e) { e.the(Opcode::kRotate).offsets[0] = -512; },
     "rotate [layer 0]: it rotates by -512"},
    {"a sum of rotations", [](const Edited& e) { e.the(Opcode::kSumOfRotations).offsets[0] = 1 << 30; },
     "sum of rotations [layer 0]: it rotates by 1073741824"},
    {"a giant step", [](const Edited& e) { e.set_map([](auto& map) { map.terms[1].giant = -(1 << 30); }); },
     "linear [layer 0]: it rotates by"},
    {"a baby step", [](const Edited& e) { e.set_map([](auto& map) { map.terms[1].baby = 512; }); },
     "linear [layer 0]: it rotates by 512"},
    {"a term's output", [](const Edited& e) { e.set_map([](auto& map) { map.terms[1].output = -1; }); },
     "linear [layer 0]: a term for output -1"},
    {"a term's input", [](const Edited& e) { e.set_map([](auto& map) { map.terms[1].input = 1; }); },
     "linear [layer 0]: a term of input 1"},
    {"the outputs of a map", [](const Edited& e) { e.set_map([](auto& map) { map.outputs = -1; }); },
     "linear [layer 0]: the map has -1 outputs"},
    {"a coefficient", [](const Edited& e) { e.set_cubic(NAN); }, "a coefficient is not finite"},
    {"its size", [](const Edited& e) { e.set_cubic(0x1p22); },
     "series [layer 0]: a coefficient of its series, 8.38861e+06, is too large"},
    {"a degree", [](const Edited& e) { e.set_series(std::vector<double>(4)); },
     "a series of degree below one"},
    {"few coefficients", [](const Edited& e) { e.set_series(std::vector<double>(5000, 0.1)); },
     "series [layer 0]: a series of 5000 coefficients"},
    // Inputs and range checks.
    {"an input under one name",
     [](const Edited& e) { e.program.inputs[1].value = e.program.inputs[0].value; },
     "pass: its inputs are not those"},
    {"an input with a name", [](const Edited& e) { e.program.inputs.pop_back(); },
     "pass: its inputs are not"},
    {"a range", [](const Edited& e) { e.program.checks[0].lo = 2; }, "range check 'the series' has no range"},
    {"a range of numbers", [](const Edited& e) { e.program.checks[0].hi = NAN; }, "has no range"},
    // Arguments.
    {"the argument's name", [](const Edited& e) { e.entry.argument.clear(); },
     "pass: its argument has no values"},
    {"its first value", [](const Edited& e) { e.entry.first = -1; }, "pass: its argument goes from -1"},
    {"an instruction that is there", [](const Edited& e) { e.constant().result = {}; },
     "exchanges an instruction that is not there"},
    {"one that may be exchanged", [](const Edited& e) { e.exchange(Opcode::kSeries, {}); },
     "series [layer 0]: its argument exchanges what it may not"},
    {"the same period", [](const Edited& e) { e.constant().plain = ones(64); },
     "multiply plain [layer 0]: its argument exchanges what it may not"},
    {"as many rotations", [](const Edited& e) { e.constant().offsets = {1}; }, "exchanges what it may not"},
    {"once", [](const Edited& e) { e.entry.by_argument[1].push_back(e.constant()); },
     "multiply plain [layer 0]: its argument exchanges it twice"},
    {"a rotation of a constant", [](const Edited& e) { e.exchange(Opcode::kRotate, {512}); },
     "rotate [layer 0]: it rotates by 512"},
    {"a key of a constant", [](const Edited& e) { e.exchange(Opcode::kRotate, {77}); },
     "rotate [layer 0]: the entry point does not ask for a key"},
    // Keys.
    {"a rotation's key",
     [](const Edited& e) { e.entry.keys.galois_levels.erase(ckks::galois_element(*good().context, 3)); },
     "rotate [layer 0]: the entry point does not ask for a key that it takes"},
    {"a relinearisation key", [](const Edited& e) { e.entry.keys.relinearisation_levels.clear(); },
     "does not ask for a key that it takes"},
    {"keys of the bootstrap", [](const Edited& e) { e.entry.keys.raised_levels.clear(); },
     "pass: it does not ask for just the"},
    {"no other key", [](const Edited& e) { e.entry.keys.galois_levels[77] = {1}; },
     "it does not ask for just"},
    {"no key of no level",
     [](const Edited& e) { e.entry.keys.relinearisation_levels.insert(ckks::Level::at(-5)); },
     "it does not ask for just"},
    // Work.
    {"bounded work",
     [](const Edited& e) {
       e.set_series(std::vector<double>(4096, 0.1));
       const Instruction own = e.the(Opcode::kSeries);
       for (int i = 0; i < 4 * 4096; ++i) e.append(own, 0, 0);
     },
     "series [layer 0]: its transforms and series have too many terms in all"},
};

TEST_CASE("the sample is accepted, twice too") {
  ProgramFile file = good().file;
  verify(file, *good().context);
  CHECK(file.entries[0].plan.bootstraps == 1);
}

TEST_CASE("whatever breaks one rule is refused, and the refusal says where and why") {
  for (const Rule& rule : kRules) {
    CAPTURE(std::string(rule.broken));
    ProgramFile file = good().file;
    rule.edit(Edited{file});
    CHECK_REFUSED(verify(file, *good().context), rule.refusal);
  }
}

}  // namespace
}  // namespace psm::program
