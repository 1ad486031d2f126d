#include "ckks/program/planning/cost_model.h"

#include <algorithm>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"

namespace psm::program {

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

double KernelSeconds::of(const Work& work) const {
  double total = 0;
  for (size_t i = 0; i < kWorkKindCount; ++i) total += seconds[i] * work.limbs[i];
  return total;
}

namespace {

bool is_single_real(const Instruction& bootstrap, const Program& program) {
  return bootstrap.arguments.size() == 1 && program.value_is_real[bootstrap.arguments[0].id] != 0;
}

TransformSummary summary_of(const ckks::LinearTransform& transform, size_t slots) {
  return summarise(transform, ckks::transform_schedule(transform, slots), slots);
}

}  // namespace

double series_scratch_bytes(const ckks::SeriesPlan& plan, const ckks::Chain& chain) {
  const std::vector<size_t> last_use = ckks::last_uses(plan);
  double live = chain.ciphertext_bytes(plan.nodes[0].level),
         peak = 0;  // of the argument there is a copy
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
  const auto found = std::find_if(bootstraps_.begin(), bootstraps_.end(),
                                  [&](const BootstrapFigures& figures) { return figures.kind == kind; });
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
      sum.linear(summary_of(*instruction.linear, program.slots), level);
      return sum.effort;
    case Opcode::kSeries:
      sum.series(plan_on_powers_of_two(*instruction.series, level).nodes);
      return sum.effort;
    case Opcode::kBootstrap:
      sum.effort = instruction.arguments.size() == 2      ? bootstrap(instruction.bootstrap).pair_effort
                   : is_single_real(instruction, program) ? bootstrap(instruction.bootstrap).real_effort
                                                          : bootstrap(instruction.bootstrap).effort;
      sum.effort.counts.bootstraps = 1;
      return sum.effort;
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
  if (instruction.opcode == Opcode::kBootstrap)
    return is_single_real(instruction, program) ? bootstrap(instruction.bootstrap).real_seconds
                                                : bootstrap(instruction.bootstrap).seconds;
  return kernels_.of(effort(instruction, program, level).work);
}

std::vector<double> CostModel::seconds_by_level(const Instruction& instruction, const Program& program,
                                                ckks::Level lowest, ckks::Level highest) const {
  std::vector<double> seconds;
  if (instruction.opcode != Opcode::kLinear) {
    for (ckks::Level level = lowest; level <= highest; ++level)
      seconds.push_back(this->seconds(instruction, program, level));
    return seconds;
  }
  const TransformSummary summary = summary_of(*instruction.linear, program.slots);
  for (ckks::Level level = lowest; level <= highest; ++level) {
    EffortSum sum(chain_);
    sum.linear(summary, level);
    seconds.push_back(kernels_.of(sum.effort.work));
  }
  return seconds;
}

}  // namespace psm::program
