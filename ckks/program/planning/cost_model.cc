#include "ckks/program/planning/cost_model.h"

#include <algorithm>
#include <cstdlib>

#include "ckks/base/error.h"
#include "ckks/poly/series_plan.h"
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

const char* name(Kernel kernel) {
  switch (kernel) {
    case Kernel::kNtt:
      return "NTT";
    case Kernel::kMultiply:
      return "multiply";
    case Kernel::kAdd:
      return "add";
    case Kernel::kConvert:
      return "basis conversion";
    case Kernel::kPermute:
      return "automorphism";
    case Kernel::kKeyRead:
      return "key read";
    case Kernel::kRunProduct:
      return "run product";
  }
  PSM_CHECK(false, "kernel ", static_cast<int>(kernel));
  return "";
}

Work& Work::operator+=(const Work& other) {
  for (size_t i = 0; i < kKernelCount; ++i) limbs[i] += other.limbs[i];
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
  for (size_t i = 0; i < kKernelCount; ++i) total += seconds[i] * work.limbs[i];
  return total;
}

LinearSchedule schedule(const LinearMap& map, size_t slots) {
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
    offsets.insert(0);  // every chain of giants ends there
    const auto zero = offsets.find(0);
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

// The parts of a key-switch, as work at one level.
class Switching {
 public:
  Switching(const SchemeShape& shape, int level)
      : limbs_(level + 1),
        special_(shape.special_primes(level)),
        digits_(shape.digits(level)),
        packed_limbs_(shape.packed_limbs(level)) {
    int begin = 0;
    for (int i = 0; i < digits_; ++i) {
      const int end = std::min(shape.gadget(level).digit_ends[static_cast<size_t>(i)], limbs_);
      conversions_ += static_cast<double>(end - begin) * (limbs_ + special_ - (end - begin));
      begin = end;
    }
  }

  void decompose(Work& work, double times = 1) const {
    work[Kernel::kNtt] += times * digits_ * (limbs_ + special_);  // l+1 inverse ones included
    work[Kernel::kConvert] += times * conversions_;
  }
  void key_product(Work& work, double times = 1) const {
    work[Kernel::kMultiply] += times * 2 * digits_ * (limbs_ + special_);
    work[Kernel::kKeyRead] += times * 2 * digits_ * packed_limbs_;
  }
  // Of `polynomials` polynomials: 2 for a ciphertext.
  void mod_down(Work& work, double polynomials) const {
    work[Kernel::kNtt] += polynomials * (special_ + limbs_);
    work[Kernel::kConvert] += polynomials * special_ * limbs_;
    work[Kernel::kAdd] += polynomials * limbs_;
  }
  void permute(Work& work, double polynomials, bool extended) const {
    work[Kernel::kPermute] += polynomials * (limbs_ + (extended ? special_ : 0));
  }
  void full(Work& work) const {
    decompose(work);
    key_product(work);
    mod_down(work, 2);
  }
  double extended_limbs() const { return limbs_ + special_; }

 private:
  int limbs_, special_, digits_;
  double packed_limbs_, conversions_ = 0;
};

// Two polynomials lose a limb: one inverse NTT of it, the difference taken to all others.
void rescale(Effort& effort, int level) {
  effort.work[Kernel::kNtt] += 2 * (1 + level);
  effort.work[Kernel::kAdd] += 2 * 2 * level;
  ++effort.counts.rescales;
}

void plaintext_products(Effort& effort, const Plain& plain, size_t slots, double limbs) {
  const Kernel kernel = plain.period() == slots ? Kernel::kMultiply : Kernel::kRunProduct;
  effort.work[kernel] += limbs;
  ++effort.counts.plaintext_products;
}

void ciphertext_products(Effort& effort, int level, int64_t count) {
  effort.work[Kernel::kMultiply] += static_cast<double>(4 * (level + 1) * count);
  effort.counts.ciphertext_products += count;
}

void relinearise(Effort& effort, const SchemeShape& shape, int level) {
  Switching(shape, level).full(effort.work);
  ++effort.counts.relinearisations;
}

// What the work of a map depends on besides its level.
struct MapSummary {
  LinearSchedule plan;
  int64_t switched_sources = 0;
  int64_t full_terms = 0, periodic_terms = 0;
  int outputs = 0;
};

MapSummary summarise(const LinearMap& map, size_t slots) {
  MapSummary summary{.plan = schedule(map, slots), .outputs = map.outputs};
  for (const LinearSchedule::Source& source : summary.plan.sources)
    summary.switched_sources += source.switched();
  for (const LinearTerm& term : map.terms)
    ++(term.weight.period() == slots ? summary.full_terms : summary.periodic_terms);
  return summary;
}

void linear(Effort& effort, const MapSummary& map, const SchemeShape& shape, int level) {
  const Switching at(shape, level);
  const auto sources = static_cast<double>(map.switched_sources),
             steps = static_cast<double>(map.plan.steps.size());
  at.decompose(effort.work, map.plan.hoisted_inputs + steps);
  at.key_product(effort.work, sources + steps);
  at.permute(effort.work, 2 * (sources + steps), true);
  effort.work[Kernel::kMultiply] += static_cast<double>(map.full_terms) * 2 * at.extended_limbs();
  effort.work[Kernel::kRunProduct] += static_cast<double>(map.periodic_terms) * 2 * at.extended_limbs();
  at.mod_down(effort.work, steps);              // giants: c_1 only; c_0 stays extended
  at.mod_down(effort.work, 2.0 * map.outputs);  // by P q_l at once
  effort.counts.hoisted_key_switches += map.switched_sources;
  effort.counts.full_key_switches += static_cast<int64_t>(map.plan.steps.size());
  effort.counts.plaintext_products += map.full_terms + map.periodic_terms;
  effort.counts.rescales += map.outputs;
}

// Levels and products do not depend on the primes, so powers of two serve to plan.
SeriesPlan plan_on_powers_of_two(const ChebyshevSeries& series, int level) {
  const std::vector<uint64_t> primes(static_cast<size_t>(level) + 1, uint64_t{1} << 40);
  return plan_series({SeriesBasis::kChebyshev, series.coefficients}, level, 0x1p40, 0x1p40, primes);
}

void series(Effort& effort, const ChebyshevSeries& chebyshev, const SchemeShape& shape, int level) {
  for (const SeriesPlan::Node& node : plan_on_powers_of_two(chebyshev, level).nodes) {
    if (node.products.empty() && node.terms.empty()) continue;  // the argument
    ciphertext_products(effort, node.level + 1, static_cast<int64_t>(node.products.size()));
    if (!node.products.empty()) relinearise(effort, shape, node.level + 1);
    effort.work[Kernel::kAdd] +=
        static_cast<double>(2 * (node.level + 2)) * static_cast<double>(node.terms.size());
    effort.counts.plaintext_products += static_cast<int64_t>(node.terms.size());
    rescale(effort, node.level + 1);
  }
}

}  // namespace

CostModel::CostModel(SchemeShape shape, KernelSeconds kernels, BootstrapFigures bootstrap)
    : shape_(std::move(shape)), kernels_(kernels), bootstrap_(std::move(bootstrap)) {}

Effort CostModel::effort(const Instruction& instruction, const Program& program, int level) const {
  Effort effort;
  const double ciphertext_limbs = 2.0 * (level + 1);
  switch (instruction.opcode) {
    case Opcode::kInput:
    case Opcode::kRefresh:
      break;
    case Opcode::kAdd:
    case Opcode::kSubtract:
    case Opcode::kNegate:
    case Opcode::kTimesI:
      effort.work[Kernel::kAdd] += ciphertext_limbs;
      break;
    case Opcode::kAddPlain:
      effort.work[Kernel::kAdd] += ciphertext_limbs / 2;
      break;
    case Opcode::kMultiplyPlain:
      plaintext_products(effort, instruction.plain, program.slots, ciphertext_limbs);
      rescale(effort, level);
      break;
    case Opcode::kMultiply:
    case Opcode::kSumOfProducts:
      ciphertext_products(effort, level, static_cast<int64_t>(instruction.arguments.size() / 2));
      relinearise(effort, shape_, level);
      rescale(effort, level);
      break;
    case Opcode::kRotate: {
      const Switching at(shape_, level);
      const auto count = static_cast<int64_t>(instruction.offsets.size());
      at.decompose(effort.work);
      for (int64_t i = 0; i < count; ++i) {
        at.key_product(effort.work);
        at.mod_down(effort.work, 2);
        at.permute(effort.work, 2, false);
      }
      (count == 1 ? effort.counts.full_key_switches : effort.counts.hoisted_key_switches) += count;
      break;
    }
    case Opcode::kConjugate: {
      const Switching at(shape_, level);
      at.full(effort.work);
      at.permute(effort.work, 2, false);
      ++effort.counts.conjugations;
      break;
    }
    case Opcode::kLinear:
      linear(effort, summarise(*instruction.linear, program.slots), shape_, level);
      break;
    case Opcode::kSeries:
      series(effort, *instruction.series, shape_, level);
      break;
    case Opcode::kBootstrap:
      effort = is_single_real(instruction, program) ? bootstrap_.real_effort : bootstrap_.effort;
      effort.counts.bootstraps = 1;
      break;
  }
  return effort;
}

Effort CostModel::drop_effort(int target) const {
  Effort effort;
  effort.work[Kernel::kAdd] += 2.0 * (target + 2);
  rescale(effort, target + 1);
  effort.counts.rescales = 0;
  effort.counts.level_drops = 1;
  return effort;
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
    Effort effort;
    linear(effort, map, shape_, level);
    seconds.push_back(kernels_.of(effort.work));
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
      break;
    case Opcode::kRotate:
      for (int offset : instruction.offsets) needs.need_galois(galois_element(offset, false), level);
      break;
    case Opcode::kConjugate:
      needs.need_galois(galois_element(0, true), level);
      break;
    case Opcode::kLinear: {
      const LinearSchedule plan = schedule(*instruction.linear, size_t{1} << (shape_.log_n - 1));
      for (const auto& source : plan.sources)
        if (source.switched()) needs.need_galois(galois_element(source.baby, source.conjugate), level);
      for (const auto& step : plan.steps) needs.need_galois(galois_element(step.by, false), level);
      break;
    }
    case Opcode::kSeries:
      for (const SeriesPlan::Node& node : plan_on_powers_of_two(*instruction.series, level).nodes)
        if (!node.products.empty()) needs.need_relinearisation(node.level + 1);
      break;
    default:
      break;
  }
}

}  // namespace psm::program
