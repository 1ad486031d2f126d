#include "ckks/program/planning/cost_model.h"

#include <algorithm>
#include <cstdlib>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"
#include "ckks/scheme/chain/gadget.h"

namespace psm::program {

int SchemeShape::band(int level) const {
  PSM_CHECK(level >= 0 && level <= bands.back().top, "level ", level, " of ", bands.back().top);
  int band = 0;
  while (bands[static_cast<size_t>(band)].top < level) ++band;
  return band;
}

double SchemeShape::packed_limbs(int level) const {
  int bits = 0;
  for (int i = 0; i <= level; ++i) bits += q_bits[static_cast<size_t>(i)];
  for (int i = 0; i < special_primes(level); ++i) bits += p_bits[static_cast<size_t>(i)];
  return bits / 64.0;
}

int SchemeShape::digits(int level) const {
  const std::vector<int>& digit_ends = gadget(level).digit_ends;
  const auto end = std::lower_bound(digit_ends.begin(), digit_ends.end(), level + 1);
  PSM_CHECK(end != digit_ends.end(), "level ", level, " of ", max_level);
  return static_cast<int>(end - digit_ends.begin()) + 1;
}

const char* name(WorkKind kind) {
  switch (kind) {
    case WorkKind::kNtt:
      return "NTT";
    case WorkKind::kMultiply:
      return "multiply";
    case WorkKind::kAdd:
      return "add";
    case WorkKind::kConvert:
      return "basis conversion";
    case WorkKind::kPermute:
      return "automorphism";
    case WorkKind::kKeyRead:
      return "key read";
    case WorkKind::kRunProduct:
      return "run product";
  }
  PSM_CHECK(false, "kind of work ", static_cast<int>(kind));
  return "";
}

Work& Work::operator+=(const Work& other) {
  for (size_t i = 0; i < kWorkKindCount; ++i) limbs[i] += other.limbs[i];
  return *this;
}

Counts& Counts::operator+=(const Counts& other) {
  hoisted_key_switches += other.hoisted_key_switches;
  full_key_switches += other.full_key_switches;
  relinearisations += other.relinearisations;
  conjugations += other.conjugations;
  plaintext_products += other.plaintext_products;
  ciphertext_products += other.ciphertext_products;
  rescales += other.rescales;
  level_drops += other.level_drops;
  bootstraps += other.bootstraps;
  return *this;
}

Effort& Effort::operator+=(const Effort& other) {
  work += other.work;
  counts += other.counts;
  return *this;
}

void KeyNeeds::need_relinearisation(int level) { relinearisation_levels.insert(level); }

void KeyNeeds::need_galois(uint64_t element, int level) {
  if (element != 1) galois_levels[element].insert(level);
}

void KeyNeeds::merge(const KeyNeeds& other) {
  relinearisation_levels.insert(other.relinearisation_levels.begin(), other.relinearisation_levels.end());
  for (const auto& [element, levels] : other.galois_levels)
    galois_levels[element].insert(levels.begin(), levels.end());
}

std::vector<int> KeyNeeds::key_levels(const SchemeShape& shape) const {
  std::vector<int> result;
  const auto add = [&](const std::set<int>& levels) {
    for (const int level : highest_of_bands(levels, [&](int l) { return shape.band(l); }))
      result.push_back(level);
  };
  add(relinearisation_levels);
  for (const auto& [element, levels] : galois_levels) add(levels);
  return result;
}

double KeyNeeds::bytes(const SchemeShape& shape) const {
  double total = 0;
  for (const int level : key_levels(shape)) total += shape.key_bytes(level);
  return total;
}

double KernelSeconds::of(const Work& work) const {
  double total = 0;
  for (size_t i = 0; i < kWorkKindCount; ++i) total += seconds[i] * work.limbs[i];
  return total;
}

LinearSchedule linear_schedule(const LinearMap& map, size_t slots) {
  LinearSchedule result;
  const int n = static_cast<int>(slots);
  std::map<int, std::set<int>> giants;  // of each output
  std::set<int> decomposed;
  for (const LinearTerm& term : map.terms) {
    const LinearSchedule::Source source{term.input, ((term.baby % n) + n) % n, term.conjugate};
    result.sources.insert(source);
    if (source.switched()) decomposed.insert(term.input);
    giants[term.output].insert(term.giant);
  }
  result.hoisted_inputs = static_cast<int>(decomposed.size());
  for (auto& [output, offsets] : giants) {
    const bool starts_empty = offsets.insert(0).second;  // every chain of giants ends there
    const auto zero = offsets.find(0);
    result.meetings += static_cast<int>(offsets.size()) - 1 - starts_empty;
    for (auto at = std::prev(offsets.end()); at != zero; --at)
      result.steps.push_back({output, *at - *std::prev(at)});
    for (auto at = offsets.begin(); at != zero; ++at) result.steps.push_back({output, *at - *std::next(at)});
  }
  return result;
}

namespace {

bool is_single_real(const Instruction& bootstrap, const Program& program) {
  return bootstrap.arguments.size() == 1 &&
         program.value_is_real[static_cast<size_t>(bootstrap.arguments[0].id)] != 0;
}

}  // namespace

SeriesPlan plan_on_powers_of_two(const ChebyshevSeries& series, int level) {
  const std::vector<uint64_t> primes(static_cast<size_t>(level) + 1, uint64_t{1} << 40);
  return plan_series({SeriesBasis::kChebyshev, series.coefficients}, level, Scale(0x1p40), Scale(0x1p40),
                     primes);
}

double series_scratch_bytes(const SeriesPlan& plan, const SchemeShape& shape, int shift) {
  const std::vector<size_t> last_use = last_uses(plan);
  double live = shape.ciphertext_bytes(plan.nodes[0].level + shift),
         peak = 0;  // of the argument there is a copy
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    const int level = plan.nodes[i].level + 1 + shift;  // before the rescaling
    const int limbs = level + 1, extended = limbs + shape.special_primes(level);
    const int sum =
        plan.nodes[i].products.empty() ? 2 * limbs : 3 * limbs + (shape.digits(level) + 2) * extended;
    peak = std::max(peak, live + sum * shape.limb_bytes());
    live += shape.ciphertext_bytes(level - 1);
    for (size_t k = 1; k < i; ++k)
      if (last_use[k] == i) live -= shape.ciphertext_bytes(plan.nodes[k].level + shift);
  }
  return peak;
}

CostModel::CostModel(SchemeShape shape, KernelSeconds kernels, BootstrapFigures bootstrap)
    : shape_(std::move(shape)), kernels_(kernels), bootstrap_(std::move(bootstrap)) {}

Effort CostModel::effort(const Instruction& instruction, const Program& program, int level) const {
  EffortSum sum(shape_);
  switch (instruction.opcode) {
    case Opcode::kInput:
    case Opcode::kRefresh:
      return {};
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kNegate:
    case Opcode::kTimesI:
      sum.add(level);
      return sum.effort;
    case Opcode::kAddPlain:
      sum.add(level, 1);
      return sum.effort;
    case Opcode::kMultiplyPlain:
      sum.multiply_plain(level, instruction.plain.period(), program.slots);
      sum.rescale(level);
      return sum.effort;
    case Opcode::kMultiply:
    case Opcode::kSumOfProducts:
      sum.multiply(level, static_cast<int64_t>(instruction.arguments.size() / 2));
      sum.relinearise_rescale(level);
      return sum.effort;
    case Opcode::kRotate:
      sum.rotate(level, static_cast<int64_t>(instruction.offsets.size()));
      return sum.effort;
    case Opcode::kConjugate:
      sum.conjugate(level);
      return sum.effort;
    case Opcode::kLinear:
      sum.linear(summarise(*instruction.linear, program.slots), level);
      return sum.effort;
    case Opcode::kSeries:
      sum.series(plan_on_powers_of_two(*instruction.series, level).nodes);
      return sum.effort;
    case Opcode::kBootstrap:
      sum.effort = is_single_real(instruction, program) ? bootstrap_.real_effort : bootstrap_.effort;
      // Two real values become a + i b before it; both parts of a complex one become re + i im after it.
      if (instruction.arguments.size() == 2)
        sum.add(shape_.entry_level, 2, 2);
      else if (!is_single_real(instruction, program))
        sum.add(shape_.compute_level, 2, 2);
      sum.effort.counts.bootstraps = 1;
      return sum.effort;
  }
  refuse_opcode("cost model", instruction.opcode);
}

Effort CostModel::drop_effort(int target) const {
  EffortSum sum(shape_);
  sum.add(target + 1);
  sum.rescale(target + 1);
  sum.effort.counts.rescales = 0;
  sum.effort.counts.level_drops = 1;
  return sum.effort;
}

double CostModel::seconds(const Instruction& instruction, const Program& program, int level) const {
  if (instruction.opcode == Opcode::kBootstrap)
    return is_single_real(instruction, program) ? bootstrap_.real_seconds : bootstrap_.seconds;
  return kernels_.of(effort(instruction, program, level).work);
}

std::vector<double> CostModel::seconds_by_level(const Instruction& instruction, const Program& program,
                                                int lowest, int highest) const {
  std::vector<double> seconds;
  if (instruction.opcode != Opcode::kLinear) {
    for (int level = lowest; level <= highest; ++level)
      seconds.push_back(this->seconds(instruction, program, level));
    return seconds;
  }
  const MapSummary map = summarise(*instruction.linear, program.slots);
  for (int level = lowest; level <= highest; ++level) {
    EffortSum sum(shape_);
    sum.linear(map, level);
    seconds.push_back(kernels_.of(sum.effort.work));
  }
  return seconds;
}

uint64_t CostModel::galois_element(int offset, bool conjugate) const {
  const uint64_t mask = (uint64_t{2} << shape_.log_n) - 1;
  const int64_t slots = int64_t{1} << (shape_.log_n - 1);
  auto exponent = static_cast<uint64_t>(((offset % slots) + slots) % slots);
  uint64_t element = 1, power = 5;
  for (; exponent > 0; exponent >>= 1) {
    if (exponent & 1) element = element * power & mask;
    power = power * power & mask;
  }
  return conjugate ? (mask + 1 - element) : element;
}

void CostModel::add_keys(const Instruction& instruction, int level, KeyNeeds& needs) const {
  switch (instruction.opcode) {
    case Opcode::kMultiply:
    case Opcode::kSumOfProducts:
      needs.need_relinearisation(level);
      return;
    case Opcode::kRotate:
      for (int offset : instruction.offsets) needs.need_galois(galois_element(offset, false), level);
      return;
    case Opcode::kConjugate:
      needs.need_galois(galois_element(0, true), level);
      return;
    case Opcode::kLinear: {
      const LinearSchedule plan = linear_schedule(*instruction.linear, size_t{1} << (shape_.log_n - 1));
      for (const auto& source : plan.sources)
        if (source.switched()) needs.need_galois(galois_element(source.baby, source.conjugate), level);
      for (const auto& step : plan.steps) needs.need_galois(galois_element(step.by, false), level);
      return;
    }
    case Opcode::kSeries:
      for (const SeriesPlan::Node& node : plan_on_powers_of_two(*instruction.series, level).nodes)
        if (!node.products.empty()) needs.need_relinearisation(node.level + 1);
      return;
    case Opcode::kInput:
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kNegate:
    case Opcode::kTimesI:
    case Opcode::kAddPlain:
    case Opcode::kMultiplyPlain:
    case Opcode::kRefresh:
    case Opcode::kBootstrap:  // its own keys come on top (BootstrapFigures)
      return;
  }
  refuse_opcode("keys", instruction.opcode);
}

}  // namespace psm::program
