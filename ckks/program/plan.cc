#include "ckks/program/plan.h"

#include <algorithm>

#include "ckks/base/error.h"

namespace psm::program {

std::vector<std::vector<Value>> last_uses(const Program& program) {
  const size_t instructions = program.instructions.size();
  std::vector<size_t> last(program.values.size(), 0);
  for (size_t i = 0; i < instructions; ++i) {
    for (Value result : program.instructions[i].results) last[id(result)] = i;
    for (Value argument : program.instructions[i].arguments) last[id(argument)] = i;
  }
  for (const NamedValue& output : program.outputs) last[id(output.value)] = instructions;
  std::vector<std::vector<Value>> ends(instructions);
  for (const Instruction& instruction : program.instructions)
    for (Value result : instruction.results)
      if (last[id(result)] < instructions) ends[last[id(result)]].push_back(result);
  return ends;
}

void complete(Plan& plan) {
  const Program& program = plan.program;
  plan.last_use = last_uses(program);
  plan.input_levels.clear();
  for (const NamedValue& input : program.inputs) plan.input_levels.push_back(plan.level[id(input.value)]);
  plan.bootstraps = static_cast<int>(std::count_if(
      program.instructions.begin(), program.instructions.end(), [](const Instruction& instruction) {
        return instruction.opcode == Opcode::kBootstrap &&
               (instruction.step == BootstrapStep::kWhole || instruction.step == BootstrapStep::kParts);
      }));
}

ckks::SeriesPlan plan_on_primes(const ckks::Series& series, ckks::Level level, const ckks::Context& context) {
  std::vector<uint64_t> primes;
  for (int l = 0; l <= level; ++l) primes.push_back(context.q(l));
  return ckks::plan_series(series, level, context.scale(level), context.scale(level - series.depth()),
                           primes);
}

void request_keys(const Instruction& instruction, const ckks::Chain& chain, ckks::Level level,
                  ckks::KeyRequest& needs) {
  if (instruction.opcode == Opcode::kMultiply || instruction.opcode == Opcode::kSumOfProducts)
    needs.need_relinearisation(level);
  if (instruction.opcode == Opcode::kConjugate)
    needs.need_galois(ckks::galois_element(chain, 0, true), level);
  for (int offset : instruction.offsets) needs.need_galois(ckks::galois_element(chain, offset), level);
  if (instruction.linear)
    ckks::request_keys(ckks::transform_schedule(*instruction.linear, size_t{1} << (chain.log_n - 1)), chain,
                       level, needs);
  if (instruction.series)
    for (const ckks::Level at : ckks::plan_series(*instruction.series, level).relinearisation_levels())
      needs.need_relinearisation(at);
}

std::set<ckks::BootstrapKind> bootstrap_kinds(const Plan& plan) {
  std::set<ckks::BootstrapKind> kinds;
  for (const Instruction& instruction : plan.program.instructions)
    if (instruction.opcode == Opcode::kBootstrap) kinds.insert(instruction.bootstrap);
  return kinds;
}

double encoded_bytes(const ckks::LinearTransform& map, const ckks::Chain& chain, ckks::Level level) {
  double values = 0;
  for (const ckks::TransformTerm& term : map.terms) values += static_cast<double>(term.weight.period());
  return 16.0 * values * weight_basis(map, chain, level).limbs();
}

std::vector<int> kept_transforms(const Plan& plan, const ckks::Chain& chain, size_t bytes) {
  struct Use {
    std::vector<int> instructions;
    double bytes = 0;
  };
  std::map<std::pair<Sha256::Digest, int>, Use> uses;
  std::set<std::pair<ckks::Plain::Identity, int>> seen;  // a machine holds a vector once for each level
  double left = static_cast<double>(bytes);
  for (size_t i = 0; i < plan.program.instructions.size(); ++i) {
    const Instruction& instruction = plan.program.instructions[i];
    const ckks::Level level = plan.argument_level[i];
    if (instruction.plain.period() > 1 &&
        (!instruction.plain.has_data() || seen.insert({instruction.plain.identity(), level}).second))
      left -= 16.0 * static_cast<double>(instruction.plain.period()) * (level + 1);
    if (!instruction.linear) continue;
    Use& use = uses[{ckks::same_encoding(*instruction.linear), level}];
    use.instructions.push_back(static_cast<int>(i));
    if (use.instructions.size() == 1) use.bytes = encoded_bytes(*instruction.linear, chain, level);
  }
  std::vector<const Use*> order;
  for (const auto& [encoding, use] : uses) order.push_back(&use);
  std::sort(order.begin(), order.end(), [](const Use* a, const Use* b) {
    return std::pair(b->instructions.size(), a->instructions[0]) <
           std::pair(a->instructions.size(), b->instructions[0]);
  });
  std::vector<int> kept(plan.program.instructions.size(), -1);
  for (const Use* use : order) {
    if (use->bytes > left) continue;
    left -= use->bytes;
    for (const int i : use->instructions) kept[static_cast<size_t>(i)] = use->instructions[0];
  }
  return kept;
}

std::vector<Value> live_after(const Plan& plan, size_t instruction) {
  std::vector<char> live(plan.program.values.size(), 0);
  for (size_t i = 0; i <= instruction; ++i)
    for (Value result : plan.program.instructions[i].results) live[id(result)] = 1;
  for (size_t i = 0; i <= instruction; ++i)
    for (Value value : plan.last_use[i]) live[id(value)] = 0;
  std::vector<Value> values;
  for (size_t v = 0; v < live.size(); ++v)
    if (live[v]) values.push_back(Value{static_cast<int>(v)});
  return values;
}

std::string block_of(const std::string& label, int parts) {
  size_t end = 0;
  for (int part = 0; part < parts; ++part) {
    const size_t next = label.find(" / ", end);
    if (next == std::string::npos) return label;
    end = next + (part + 1 < parts ? 3 : 0);
  }
  return label.substr(0, end);
}

void require_resumable(const Plan& plan, size_t next, FunctionRef<bool(Value)> given) {
  for (size_t i = next; i < plan.program.instructions.size(); ++i)
    if (const Instruction& later = plan.program.instructions[i];
        later.opcode == Opcode::kInput && !given(later.results[0]))
      throw Error(message("the program takes an input at instruction ", i,
                          ", after its checkpoint, which does not hold it; run it from its beginning"));
}

size_t sums_together(const Plan& plan, size_t first) {
  const std::vector<Instruction>& instructions = plan.program.instructions;
  std::set<int> made;
  size_t i = first;
  for (; i < instructions.size() && i < first + kSumsTogether; ++i) {
    if (instructions[i].opcode != Opcode::kSumOfProducts ||
        plan.argument_level[i] != plan.argument_level[first] ||
        std::ranges::any_of(instructions[i].arguments, [&](Value value) { return made.contains(value.id); }))
      break;
    for (Value result : instructions[i].results) made.insert(result.id);
  }
  return i - first;
}

std::vector<size_t> block_boundaries(const Plan& plan) {
  const std::vector<Instruction>& all = plan.program.instructions;
  std::vector<size_t> boundaries;
  for (size_t i = 0; i + 1 < all.size(); ++i)
    if (block_of(all[i].label, 1) != block_of(all[i + 1].label, 1)) boundaries.push_back(i);
  return boundaries;
}

}  // namespace psm::program
