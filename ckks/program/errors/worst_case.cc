#include "ckks/program/errors/worst_case.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ckks/base/error.h"
#include "ckks/bootstrap/bootstrap_worst_case.h"
#include "ckks/poly/series_worst_case.h"

namespace psm::program {
namespace {

size_t id(Value value) { return static_cast<size_t>(value.id); }

class Pass {
 public:
  Pass(const Plan& plan, const ckks::WorstCaseModel& model, const ckks::BootstrapPlan* bootstrap,
       const std::map<std::string, double>& input_sizes)
      : plan_(plan),
        model_(model),
        context_(model.context()),
        bootstrap_(bootstrap),
        bounds_(plan.level.size()) {
    for (const NamedValue& input : plan.program.inputs) {
      const auto found = input_sizes.find(input.name);
      PSM_CHECK(found != input_sizes.end(), "no size of input ", input.name);
      set(input.value, {found->second, model.encryption(context_.scale(plan.level[id(input.value)]))});
    }
  }

  std::vector<ckks::SlotBound> run() && {
    for (size_t i = 0; i < plan_.program.instructions.size(); ++i) {
      const Instruction& instruction = plan_.program.instructions[i];
      if (instruction.opcode == Opcode::kInput) continue;
      const ckks::Level level = plan_.argument_level[i];
      arguments_.clear();
      for (const Value argument : instruction.arguments) {
        ckks::SlotBound x = bounds_[id(argument)];
        x.error = model_.drop(plan_.level[id(argument)], level, x.size, x.error);
        arguments_.push_back(x);
      }
      step(instruction, level);
    }
    return std::move(bounds_);
  }

 private:
  ckks::Scale scale(ckks::Level level) const { return context_.scale(level); }
  bool real(Value value) const { return plan_.program.value_is_real[id(value)] != 0; }

  void set(Value value, ckks::SlotBound bound) {
    for (const RangeCheck& check : plan_.program.checks) {
      if (check.value != value || check.where.period() != 0) continue;
      const double component = std::max(std::abs(check.lo), std::abs(check.hi)) + ckks::kArgumentSlack;
      bound.size = std::min(bound.size, real(value) ? component : std::numbers::sqrt2 * component);
    }
    bounds_[id(value)] = bound;
  }

  void step(const Instruction& instruction, ckks::Level level) {
    const auto result = [&](ckks::SlotBound bound) { set(instruction.results[0], bound); };
    const ckks::SlotBound& x = arguments_[0];
    switch (instruction.opcode) {
      case Opcode::kAdd:
      case Opcode::kSubtract:
        return result({x.size + arguments_[1].size, x.error + arguments_[1].error});
      case Opcode::kNegate:
      case Opcode::kTimesI:
        return result(x);
      case Opcode::kAddPlain:
        return result({x.size + weight(instruction, level).size, x.error + weight(instruction, level).error});
      case Opcode::kMultiplyPlain: {
        const ckks::SlotBound w = weight(instruction, level);
        return result({x.size * w.size, ckks::WorstCaseModel::product(x.size, x.error, w.size, w.error) +
                                            model_.rescale(scale(level - 1))});
      }
      case Opcode::kMultiply:
      case Opcode::kSumOfProducts: {
        ckks::SlotBound sum{
            0, model_.key_switch(level, scale(level) * scale(level)) + model_.rescale(scale(level - 1))};
        for (size_t k = 0; k < arguments_.size(); k += 2) {
          const ckks::SlotBound &a = arguments_[k], &b = arguments_[k + 1];
          sum.size += a.size * b.size;
          sum.error += ckks::WorstCaseModel::product(a.size, a.error, b.size, b.error);
        }
        return result(sum);
      }
      case Opcode::kRotate:
      case Opcode::kConjugate:
        for (const Value value : instruction.results) {
          set(value, {x.size, x.error + model_.key_switch(level, scale(level))});
        }
        return;
      case Opcode::kSumOfRotations: {
        const auto rotations = static_cast<double>(instruction.offsets.size());
        return result({(1 + rotations) * x.size,
                       (1 + rotations) * x.error + rotations * model_.key_switch(level, scale(level))});
      }
      case Opcode::kLinear:
        return linear(instruction, level);
      case Opcode::kSeries:
        return series(instruction, level);
      case Opcode::kBootstrap:
        return bootstrap(instruction);
      case Opcode::kInput:
      case Opcode::kRefresh:
        break;
    }
    refuse_opcode("worst case of a plan", instruction.opcode);
  }

  // The plaintext's largest value and its rounding: coefficient by coefficient, or of one Gaussian integer.
  ckks::SlotBound weight(const Instruction& instruction, ckks::Level level) const {
    if (!instruction.plain.has_data()) refuse_shape(instruction);
    return {instruction.plain.max_abs(),
            instruction.plain.period() == 1 ? 1 / scale(level) : model_.encoding(scale(level))};
  }

  void linear(const Instruction& instruction, ckks::Level level) {
    for (const ckks::TransformTerm& term : instruction.linear->terms) {
      if (!term.weight.has_data()) refuse_shape(instruction);
    }
    const ckks::LinearTransform& transform = *instruction.linear;
    const std::vector<ckks::SlotBound> results = ckks::worst_case_transform(
        model_, transform, ckks::transform_schedule(transform, plan_.program.slots), level, scale(level),
        scale(level - 1), arguments_);
    for (size_t r = 0; r < results.size(); ++r) set(instruction.results[r], results[r]);
  }

  void series(const Instruction& instruction, ckks::Level level) {
    std::vector<uint64_t> primes;
    for (int l = 0; l <= level; ++l) primes.push_back(context_.q(l));
    const ckks::SeriesPlan plan = ckks::plan_series(*instruction.series, level, scale(level),
                                                    scale(level - depth(instruction)), primes);
    set(instruction.results[0], {ckks::worst_case_size(instruction.series->coefficients),
                                 ckks::worst_case_series(model_, plan, arguments_[0].error)});
  }

  void bootstrap(const Instruction& instruction) {
    if (instruction.bootstrap.sparse())
      throw Error(message(describe(instruction),
                          ": a sparse bootstrap's errors have no bound here; plan with full ones alone"));
    PSM_CHECK(bootstrap_ != nullptr, "a plan with bootstraps needs their bound");
    // Two real values travel as a + i b, of a single one the real part comes back; of a complex one both do.
    const bool parts = real(instruction.results[0]);
    double error = 0;
    for (const ckks::SlotBound& argument : arguments_) error += argument.error;
    const double part = ckks::worst_case_bootstrap(model_, *bootstrap_, error);
    for (size_t r = 0; r < instruction.results.size(); ++r) {
      const double most =
          (real(instruction.results[r]) ? 1 : std::numbers::sqrt2) * (1 + ckks::kArgumentSlack);
      const ckks::SlotBound fresh{std::min(arguments_[r].size, most), parts ? part : 2 * part};
      const ckks::Level to = plan_.level[id(instruction.results[r])];
      set(instruction.results[r],
          {fresh.size, model_.drop(context_.compute_level(), to, fresh.size, fresh.error)});
    }
  }

  [[noreturn]] static void refuse_shape(const Instruction& instruction) {
    throw Error(message(describe(instruction),
                        ": its weights have a shape but no values, so its errors have no bound; ",
                        "give it a model"));
  }

  const Plan& plan_;
  const ckks::WorstCaseModel& model_;
  const ckks::Context& context_;
  const ckks::BootstrapPlan* bootstrap_;
  std::vector<ckks::SlotBound> bounds_;
  std::vector<ckks::SlotBound> arguments_;
};

}  // namespace

std::vector<ckks::SlotBound> worst_case_errors(const Plan& plan, const ckks::WorstCaseModel& model,
                                               const ckks::BootstrapPlan* bootstrap,
                                               const std::map<std::string, double>& input_sizes) {
  return Pass(plan, model, bootstrap, input_sizes).run();
}

}  // namespace psm::program
