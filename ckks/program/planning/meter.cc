#include "ckks/program/planning/meter.h"

#include <cmath>

#include "ckks/linalg/transform_blocks.h"

namespace psm::program {
namespace {

// Ciphertexts as the encrypted machine keeps them.
class Memory {
 public:
  Memory(const Plan& plan, const ckks::Chain& chain, const std::set<std::string>& shared)
      : plan_(plan), chain_(chain) {
    for (const NamedValue& input : plan_.program.inputs) {
      if (shared.contains(input.name)) {
        shared_.insert(input.value.id);
      } else if (!plan_.inputs_come_late) {
        store(input.value);
      }
    }
  }
  void store(Value value) { live_ += chain_.ciphertext_bytes(plan_.level[id(value)]); }
  // True if the value had to be brought down for this instruction.
  bool lower(Value value, ckks::Level level) {
    if (plan_.level[id(value)] == level || !lowered_.insert({value.id, level}).second) return false;
    live_ += chain_.ciphertext_bytes(level);
    return true;
  }
  void release(Value value) {
    if (!shared_.contains(value.id)) live_ -= chain_.ciphertext_bytes(plan_.level[id(value)]);
    for (auto at = lowered_.lower_bound({value.id, ckks::Level(0)});
         at != lowered_.end() && at->first == value.id;) {
      live_ -= chain_.ciphertext_bytes(at->second);
      at = lowered_.erase(at);
    }
  }
  double live() const { return live_; }

 private:
  const Plan& plan_;
  const ckks::Chain& chain_;
  std::set<std::pair<int, ckks::Level>> lowered_;
  std::set<int> shared_;
  double live_ = 0;
};

// Bytes of encoded plaintexts; a vector that is met again at the same level is the same plaintext. A map's are
// encoded block by block where they are not kept.
class Plaintexts {
 public:
  explicit Plaintexts(const ckks::Chain& chain) : chain_(chain) {}

  // Those of an instruction that are in memory together, met before or not: a vector, a block, or nothing.
  double add(const Instruction& instruction, const ckks::TransformSchedule& schedule, ckks::Level level) {
    if (instruction.linear) {
      const double value_bytes = 16.0 * weight_basis(*instruction.linear, chain_, level).limbs();
      if (seen_maps_.insert({ckks::same_encoding(*instruction.linear), level}).second)
        bytes_ += encoded_bytes(*instruction.linear, chain_, level);
      return value_bytes * static_cast<double>(ckks::largest_block_values(*instruction.linear, schedule));
    }
    const ckks::Plain& plain = instruction.plain;
    if (plain.period() <= 1) return 0;  // a number takes no plaintext
    const double bytes = 16.0 * static_cast<double>(plain.period()) * (level + 1);
    if (!plain.has_data() || seen_.insert({plain.identity(), level}).second) bytes_ += bytes;
    return bytes;
  }
  double bytes() const { return bytes_; }

 private:
  const ckks::Chain& chain_;
  std::set<std::pair<ckks::Plain::Identity, int>> seen_;
  std::set<std::pair<Sha256::Digest, int>> seen_maps_;
  double bytes_ = 0;
};

// Decomposed digits, and the accumulators of a linear map, which has this schedule.
double scratch_bytes(const Instruction& instruction, const ckks::TransformSchedule& schedule,
                     ckks::Level level, const CostModel& model) {
  const ckks::Chain& chain = model.chain();
  const double extended = (level + 1 + chain.special_primes(level)) * chain.limb_bytes();
  if (instruction.series) return series_scratch_bytes(ckks::plan_series(*instruction.series, level), chain);
  if (instruction.linear) {
    const double accumulators = schedule.counts.giant_rotations + instruction.linear->outputs;
    const double digits = chain.digits(level) * schedule.counts.hoisted_inputs * extended;
    if (!instruction.linear->divides_sources) return digits + 2 * accumulators * extended;
    const int sources = std::min(schedule.counts.hoisted_rotations, ckks::kDividedTogether);
    return digits + (accumulators + sources) * chain.ciphertext_bytes(level);
  }
  if (instruction.opcode == Opcode::kBootstrap) return model.bootstrap(instruction.bootstrap).scratch_bytes;
  ckks::KeyRequest taken;
  request_keys(instruction, chain, level, taken);
  const bool switches = !taken.relinearisation_levels.empty() || !taken.galois_levels.empty();
  return switches ? (chain.digits(level) + 2) * extended : 0;
}

void count_keys(const Plan& plan, const CostModel& model, MeterReading& reading) {
  reading.keys = plan.keys;
  for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan)) {
    reading.keys.merge(model.bootstrap(kind).keys);
    reading.bootstrap_bytes += model.bootstrap(kind).memory_bytes;
  }
  reading.key_bytes = static_cast<double>(reading.keys.bytes(model.chain()));
}

}  // namespace

double file_bytes(const Program& program) {
  constexpr double kConstantBytes = 7, kRunBytes = 6, kTermInFile = 6, kRun = 256;
  std::set<ckks::Plain::Identity> seen;
  double bytes = 0;
  const auto add = [&](const ckks::Plain& plain) {
    if (plain.period() == 0 || (plain.has_data() && !seen.insert(plain.identity()).second)) return;
    const auto entries = static_cast<double>(plain.entries());
    bytes += entries * (plain.real() ? 4 : 8) + kConstantBytes + kRunBytes * std::ceil(entries / kRun);
  };
  for (const Instruction& instruction : program.instructions) {
    add(instruction.plain);
    if (!instruction.linear) continue;
    for (const ckks::TransformTerm& term : instruction.linear->terms) add(term.weight), bytes += kTermInFile;
  }
  return bytes;
}

MeterReading meter(const Plan& plan, const CostModel& model, const std::set<std::string>& shared_inputs) {
  constexpr double kTermBytes = sizeof(ckks::TransformTerm) + 16 + 16;  // with a constant and a run
  MeterReading reading;
  count_keys(plan, model, reading);
  Memory memory(plan, model.chain(), shared_inputs);
  Plaintexts plaintexts(model.chain());
  const std::vector<Instruction>& instructions = plan.program.instructions;
  size_t waiting = 0;  // sums of products that were made with an earlier one
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Instruction& instruction = instructions[i];
    const ckks::Level level = plan.argument_level[i];
    const bool bootstrap = instruction.opcode == Opcode::kBootstrap;
    ckks::TransformSchedule schedule;
    EffortSum map(model.chain());
    if (instruction.linear) {
      schedule = ckks::transform_schedule(*instruction.linear, plan.program.slots);
      map.linear(schedule.counts, level);
      reading.table_bytes += static_cast<double>(instruction.linear->terms.size()) * kTermBytes;
    }
    Effort effort = instruction.linear ? map.effort : model.effort(instruction, plan.program, level);
    const double seconds =
        bootstrap ? model.seconds(instruction, plan.program, level) : model.kernels().of(effort.work);
    double drops = 0;
    if (bootstrap) {
      reading.bootstrap_counts += effort.counts;
      reading.work += effort.work;
      effort = {};
    }
    auto drop_to = [&](ckks::Level target) {
      effort += model.drop_effort(target);
      drops += model.drop_seconds(target);
    };
    for (Value argument : instruction.arguments)
      if (memory.lower(argument, level)) drop_to(level);
    if (instruction.opcode != Opcode::kInput || plan.inputs_come_late)
      for (Value result : instruction.results) memory.store(result);
    if (bootstrap)
      for (Value result : instruction.results)
        if (plan.level[id(result)] < model.bootstrap(instruction.bootstrap).output_level)
          drop_to(plan.level[id(result)]);
    double products = 0;  // that are not relinearised yet, of three polynomials
    if (instruction.opcode == Opcode::kSumOfProducts) {
      if (waiting == 0) waiting = sums_together(plan, i);
      products = static_cast<double>(waiting--);
    } else if (instruction.opcode == Opcode::kMultiply) {
      products = 1;
    }
    const double bytes = memory.live() + 1.5 * products * model.chain().ciphertext_bytes(level) +
                         scratch_bytes(instruction, schedule, level, model);
    if (bytes > reading.peak_ciphertext_bytes) {
      reading.peak_ciphertext_bytes = bytes;
      reading.peak_operation = describe(instruction);
    }
    for (Value value : plan.last_use[i]) memory.release(value);
    reading.peak_working_bytes =
        std::max(reading.peak_working_bytes, bytes + plaintexts.add(instruction, schedule, level));

    reading.counts += effort.counts;
    reading.work += effort.work;
    reading.seconds += seconds + drops;
    reading.instruction_seconds.push_back(seconds + drops);
    reading.drop_seconds.push_back(drops);
  }
  reading.plaintext_bytes = plaintexts.bytes();
  return reading;
}

}  // namespace psm::program
