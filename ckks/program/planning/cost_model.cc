#include "ckks/program/planning/cost_model.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/engine/host_engine.h"
#include "ckks/scheme/encoding/plaintext.h"

namespace psm::program {

const char* name(WorkKind kind) {
  static constexpr const char* kNames[kWorkKindCount] = {
      "NTT",          "multiply", "add",         "basis conversion",
      "automorphism", "key read", "run product", "tensor product"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

// The parts of a key switch, as work at one level.
class Switching {
 public:
  Switching(const ckks::Chain& chain, ckks::Level level)
      : Switching(level + 1, chain.special_primes(level), chain.digits(level), chain.packed_limbs(level),
                  chain.gadget(level).digits) {}
  Switching(int limbs, int special, int digits, double packed_limbs, std::span<const ckks::DigitRange> ranges)
      : limbs_(limbs), special_(special), digits_(digits), packed_limbs_(packed_limbs) {
    for (const ckks::DigitRange& digit : ranges.first(static_cast<size_t>(digits_))) {
      const int size = std::min(digit.end, limbs_) - digit.begin;
      conversions_ += conversions(size, limbs_ + special_ - size);
    }
  }

  void decompose(Work& work, double times = 1) const {
    work[WorkKind::kNtt] += times * digits_ * (limbs_ + special_);  // l+1 inverse ones included
    work[WorkKind::kConvert] += times * conversions_;
    work[WorkKind::kAdd] += times * limbs_;  // nearest multiples
  }
  void key_product(Work& work, double times = 1) const {
    work[WorkKind::kMultiply] += times * 2 * digits_ * (limbs_ + special_);
    work[WorkKind::kKeyRead] += times * 2 * digits_ * packed_limbs_;
  }
  // A raised polynomial is its own digit: one inverse NTT, and its residues modulo each special prime.
  void raised_digit(Work& work, double times) const {
    work[WorkKind::kNtt] += times * (1 + special_);
    work[WorkKind::kAdd] += times * special_;
  }
  void raised_product(Work& work, double times) const {
    work[WorkKind::kMultiply] += times * 2 * (limbs_ + special_);
    work[WorkKind::kKeyRead] += times * 2 * packed_limbs_;
  }
  // Of `polynomials` polynomials, 2 for a ciphertext; divided by P q_l too if they are rescaled.
  void mod_down(Work& work, double polynomials, bool rescale = false) const {
    const int sources = special_ + rescale, targets = limbs_ - rescale;
    work[WorkKind::kNtt] += polynomials * (sources + targets);
    work[WorkKind::kConvert] += polynomials * conversions(sources, targets);
    work[WorkKind::kAdd] += polynomials * (sources + targets);
  }
  void permute(Work& work, double polynomials, bool extended) const {
    work[WorkKind::kPermute] += polynomials * (limbs_ + (extended ? special_ : 0));
  }
  void full(Work& work) const {
    decompose(work);
    key_product(work);
    mod_down(work, 2);
  }
  int limbs() const { return limbs_; }
  int extended_limbs() const { return limbs_ + special_; }

 private:
  // The multiple of the sources' product is one source more.
  static double conversions(int sources, int targets) { return static_cast<double>(sources + 1) * targets; }

  int limbs_, special_, digits_;
  double packed_limbs_, conversions_ = 0;
};

bool is_single_real(const Instruction& bootstrap, const Program& program) {
  return bootstrap.arguments.size() == 1 && program.values[bootstrap.arguments[0].id].is_real;
}

ckks::TransformCounts counts_of(const ckks::LinearTransform& transform, size_t slots) {
  return ckks::transform_schedule(transform, slots).counts;
}

}  // namespace

void EffortSum::add(ckks::Level level, int polynomials, int64_t times) {
  effort.work[WorkKind::kAdd] += static_cast<double>(polynomials * (level + 1) * times);
}

// Two polynomials lose a limb: one inverse NTT of it; its residues and the difference taken to all others.
void EffortSum::rescale(ckks::Level level) {
  effort.work[WorkKind::kNtt] += 2 * (1 + level);
  effort.work[WorkKind::kAdd] += 2 * 2 * level;
  ++effort.counts.rescales;
}

void EffortSum::multiply_plain(ckks::Level level, size_t period, size_t slots) {
  const bool constants = period == 1 || slots / period >= ckks::kLongRun;
  const WorkKind kernel = constants         ? WorkKind::kAdd
                          : period == slots ? WorkKind::kMultiply
                                            : WorkKind::kRunProduct;
  effort.work[kernel] += 2.0 * (level + 1);
  ++effort.counts.plaintext_products;
}

void EffortSum::multiply(ckks::Level level, int64_t count) {
  effort.work[WorkKind::kTensor] += static_cast<double>((level + 1) * count);
  add(level, 3, (count - 1) / static_cast<int64_t>(ckks::HostEngine::kTogether));  // partial sums
  effort.counts.ciphertext_products += count;
}

void EffortSum::relinearise_rescale(ckks::Level level) {
  const Switching at(chain_, level);
  at.decompose(effort.work);
  at.key_product(effort.work);
  at.mod_down(effort.work, 2, true);
  add(level);  // P times what is not switched
  ++effort.counts.relinearisations;
  ++effort.counts.rescales;
}

void EffortSum::rotate(ckks::Level level, int64_t count) {
  const Switching at(chain_, level);
  const auto times = static_cast<double>(count);
  at.decompose(effort.work);
  at.key_product(effort.work, times);
  at.mod_down(effort.work, 2 * times);
  at.permute(effort.work, 2 * times, false);
  (count == 1 ? effort.counts.full_key_switches : effort.counts.hoisted_key_switches) += count;
}

void EffortSum::conjugate(ckks::Level level) {
  const Switching at(chain_, level);
  at.full(effort.work);
  at.permute(effort.work, 2, false);
  ++effort.counts.conjugations;
}

void EffortSum::sum_rotations(ckks::Level level, int64_t count) {
  const Switching at(chain_, level);
  const auto switched = static_cast<double>(count - 1);
  at.decompose(effort.work);
  at.key_product(effort.work, switched);
  at.permute(effort.work, 2 * switched, true);
  at.mod_down(effort.work, 2);
  effort.work[WorkKind::kAdd] += (switched + 2) * at.limbs() + 2 * switched * at.extended_limbs();
  effort.counts.hoisted_key_switches += count - 1;
}

void EffortSum::linear(const ckks::TransformCounts& transform, ckks::Level level) {
  const Switching at(chain_, level);
  const double sources = transform.keyed_sources(), steps = transform.giant_rotations;
  const double unmoved = transform.sources - sources;
  const double limbs = transform.divides_sources ? at.limbs() : at.extended_limbs();  // of products
  if (transform.from_ephemeral) {
    at.raised_digit(effort.work, transform.hoisted_inputs);
    at.raised_product(effort.work, sources);
  } else {
    at.decompose(effort.work, transform.hoisted_inputs);
    at.key_product(effort.work, sources);
  }
  at.decompose(effort.work, steps);
  at.key_product(effort.work, steps);
  at.permute(effort.work, 2.0 * transform.hoisted_rotations, !transform.divides_sources);
  at.permute(effort.work, 2 * steps, true);
  effort.work[WorkKind::kMultiply] += transform.full_terms * 2.0 * limbs;
  effort.work[WorkKind::kRunProduct] += transform.periodic_terms * 2.0 * limbs;
  // If the map divides its sources, only what a step leads to is extended.
  const bool divides = transform.divides_sources;
  const double from_extended = divides ? transform.chained_steps : steps;
  const double to_extended = divides ? transform.chained_meetings : transform.meetings;
  const int extended = divides ? transform.stepped_outputs : transform.outputs;
  at.mod_down(effort.work, from_extended);         // giants: c_1 only; c_0 stays extended
  at.mod_down(effort.work, 2.0 * extended, true);  // by P q_l at once
  if (divides) {
    at.mod_down(effort.work, 2 * sources);
    for (int i = extended; i < transform.outputs; ++i) rescale(level);
  } else {
    // P c_0 of a rotated source, P times the others.
    effort.work[WorkKind::kAdd] += (sources + 2 * unmoved) * at.limbs();
  }
  // c_0 of a giant, and the sum that it meets.
  effort.work[WorkKind::kAdd] +=
      (from_extended + 2 * to_extended) * at.extended_limbs() +
      (steps - from_extended + 2 * (transform.meetings - to_extended)) * at.limbs();
  effort.counts.rescales += extended;
  effort.counts.hoisted_key_switches += transform.keyed_sources();
  effort.counts.full_key_switches += transform.giant_rotations;
  effort.counts.plaintext_products += transform.full_terms + transform.periodic_terms;
}

void EffortSum::series(std::span<const ckks::SeriesPlan::Node> nodes) {
  for (const ckks::SeriesPlan::Node& node : nodes) {
    if (node.products.empty() && node.terms.empty()) continue;  // the argument
    const ckks::Level level = node.level + 1;
    const auto terms = static_cast<int64_t>(node.terms.size());
    add(level, 2, terms);
    effort.counts.plaintext_products += terms;
    if (node.products.empty()) {
      rescale(level);
    } else {
      multiply(level, static_cast<int64_t>(node.products.size()));
      if (node.products.front().doubled) add(level, 3);
      relinearise_rescale(level);
    }
    if (node.constant != 0) add(level - 1, 1);
  }
}

void EffortSum::mod_raise(ckks::Level level) {
  const ckks::DigitRange one_digit[] = {{0, 1}};
  const double packed = (chain_.q_bits.front() + chain_.p_bits.front()) / 64.0;
  Switching(1, 1, 1, packed, one_digit).full(effort.work);
  effort.work[WorkKind::kNtt] += 2 * (1 + level);
  effort.work[WorkKind::kAdd] += 2 * level;  // residues modulo every other prime
  ++effort.counts.full_key_switches;
}

void EffortSum::sum_galois_raised(ckks::Level level, int64_t count) {
  const Switching at(chain_, level);
  const auto terms = static_cast<double>(count);
  at.raised_digit(effort.work, 1);
  at.raised_product(effort.work, terms);
  at.permute(effort.work, 2 * (terms - 1), true);
  at.mod_down(effort.work, 2);
  effort.work[WorkKind::kAdd] += terms * at.limbs() + 2 * (terms - 1) * at.extended_limbs();
  effort.counts.hoisted_key_switches += count;
}

double series_scratch_bytes(const ckks::SeriesPlan& plan, const ckks::Chain& chain) {
  const std::vector<size_t> last_use = ckks::last_uses(plan);
  double live = 0, peak = 0;
  for (size_t i = 1; i < plan.nodes.size(); ++i) {
    const ckks::Level level = plan.nodes[i].level + 1;  // before the rescaling
    const int limbs = level + 1, extended = limbs + chain.special_primes(level);
    const int sum =
        plan.nodes[i].products.empty() ? 2 * limbs : 3 * limbs + (chain.digits(level) + 2) * extended;
    peak = std::max(peak, live + sum * chain.limb_bytes());
    live += chain.ciphertext_bytes(level - 1);
    for (size_t k = 1; k < i; ++k)
      if (last_use[k] == i) live -= chain.ciphertext_bytes(plan.nodes[k].level);
  }
  return peak;
}

CostModel::CostModel(ckks::Chain chain, KernelSeconds kernels, std::vector<BootstrapFigures> bootstraps)
    : chain_(std::move(chain)), kernels_(kernels), bootstraps_(std::move(bootstraps)) {
  if (bootstraps_.empty() || bootstraps_[0].kind.sparse()) bootstraps_.emplace(bootstraps_.begin());
  bootstraps_[0].entry_level = chain_.entry_level;
  bootstraps_[0].output_level = chain_.compute_level;
}

const BootstrapFigures& CostModel::bootstrap(const ckks::BootstrapKind& kind) const {
  const auto found = std::ranges::find(bootstraps_, kind, &BootstrapFigures::kind);
  PSM_CHECK(found != bootstraps_.end(), "no bootstrap of ", kind.text(), " is offered");
  return *found;
}

Effort CostModel::effort(const Instruction& instruction, const Program& program, ckks::Level level) const {
  EffortSum sum(chain_);
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
    case Opcode::kSumOfRotations:
      sum.sum_rotations(level, static_cast<int64_t>(instruction.offsets.size()) + 1);
      return sum.effort;
    case Opcode::kConjugate:
      sum.conjugate(level);
      return sum.effort;
    case Opcode::kLinear:
      sum.linear(counts_of(*instruction.linear, program.slots), level);
      return sum.effort;
    case Opcode::kSeries:
      sum.series(ckks::plan_series(*instruction.series, level).nodes);
      return sum.effort;
    case Opcode::kBootstrap: {
      if (instruction.step != BootstrapStep::kWhole) return {};
      const BootstrapFigures& of = bootstrap(instruction.bootstrap);
      if (instruction.arguments.size() == 2) return of.pair_effort;
      return is_single_real(instruction, program) ? of.real_effort : of.effort;
    }
  }
  refuse_opcode("cost model", instruction.opcode);
}

Effort CostModel::drop_effort(ckks::Level target) const {
  EffortSum sum(chain_);
  sum.add(target + 1);
  sum.rescale(target + 1);
  sum.effort.counts.rescales = 0;
  sum.effort.counts.level_drops = 1;
  return sum.effort;
}

double CostModel::seconds(const Instruction& instruction, const Program& program, ckks::Level level) const {
  if (instruction.opcode == Opcode::kBootstrap) {
    const BootstrapFigures& of = bootstrap(instruction.bootstrap);
    // Values between steps are no values of the program.
    if (instruction.step == BootstrapStep::kWhole)
      return is_single_real(instruction, program) ? of.real_seconds : of.seconds;
    const double evalmod = of.seconds - of.real_seconds;
    if (instruction.step == BootstrapStep::kEvalMod) return evalmod;
    // What joins the parts is among the others.
    return instruction.step == BootstrapStep::kParts ? of.real_seconds - evalmod : 0;
  }
  return kernels_.of(effort(instruction, program, level).work);
}

std::vector<double> CostModel::seconds_by_level(const Instruction& instruction, const Program& program,
                                                ckks::Level lowest, ckks::Level highest) const {
  const bool is_map = instruction.opcode == Opcode::kLinear;
  const ckks::TransformCounts map =
      is_map ? counts_of(*instruction.linear, program.slots) : ckks::TransformCounts{};
  std::vector<double> seconds;
  for (ckks::Level level = lowest; level <= highest; ++level)
    seconds.push_back(is_map ? std::min(linear_seconds(map, false, level), linear_seconds(map, true, level))
                             : this->seconds(instruction, program, level));
  return seconds;
}

double CostModel::linear_seconds(ckks::TransformCounts map, bool divides_sources, ckks::Level level) const {
  map.divides_sources = divides_sources;
  EffortSum sum(chain_);
  sum.linear(map, level);
  return kernels_.of(sum.effort.work);
}

bool CostModel::divides_sources(const ckks::LinearTransform& map, size_t slots, ckks::Level level) const {
  const ckks::TransformCounts counts = counts_of(map, slots);
  return linear_seconds(counts, true, level) < linear_seconds(counts, false, level);
}

}  // namespace psm::program
