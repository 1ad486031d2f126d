#include "ckks/program/planning/scheme_figures.h"

#include <algorithm>
#include <span>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"

namespace psm::program {

SchemeShape shape_of(const Context& context) {
  SchemeShape shape;
  shape.log_n = context.log_n();
  shape.entry_level = context.entry_level();
  shape.compute_level = context.compute_level();
  shape.max_level = context.max_level();
  shape.q_bits.clear();
  shape.p_bits.clear();
  for (int i = 0; i < context.ring().q_count(); ++i) shape.q_bits.push_back(context.ring().q(i).bits);
  for (int i = 0; i < context.ring().p_count(); ++i) shape.p_bits.push_back(context.ring().p(i).bits);
  shape.bands.clear();
  for (const Gadget& gadget : context.gadgets()) {
    SchemeShape::Band& band = shape.bands.emplace_back(SchemeShape::Band{gadget.top, gadget.p_count, {}});
    for (const DigitRange& digit : gadget.digits) band.digit_ends.push_back(digit.end);
  }
  return shape;
}

LevelBudget budget_of(const Context& context) {
  return {.max_level = context.compute_level(),
          .entry_level = context.entry_level(),
          .input_level = context.compute_level(),
          .output_level = 0};
}

namespace {

// The effort of a bootstrap's steps, summed up. Levels are those of the context; in a chain of another shape
// what lies above SlotsToCoeffs moves with the computing levels.
class BootstrapEffort {
 public:
  BootstrapEffort(const Context& context, const SchemeShape& shape)
      : context_(context), shift_(shape.compute_level - context.compute_level()), sum_(shape) {}

  int placed(int level) const { return level > context_.entry_level() ? level + shift_ : level; }
  const Effort& effort() const { return sum_.effort; }

  void transforms(std::span<const PlacedTransform> transforms) {
    const auto slots = static_cast<size_t>(context_.slots());
    for (const PlacedTransform& t : transforms) {
      LinearMap map{.outputs = t.transform.outputs, .terms = {}};
      for (const TransformTerm& term : t.transform.terms)
        map.terms.push_back({.output = term.output,
                             .giant = term.giant,
                             .input = term.input,
                             .baby = term.baby,
                             .conjugate = term.conjugate,
                             .weight = Plain::shape_only(term.diagonal.size(), false)});
      sum_.linear(summarise(map, slots), placed(t.level));
    }
  }
  void rotation(int offset, int level) {
    if (offset != 0) sum_.rotate(placed(level));
  }
  void rotation_sum(const RotationSum& rotations, int level) {
    for (const auto& elements : rotations.sums(context_))
      sum_.sum_rotations(placed(level), static_cast<int64_t>(elements.size()));
  }
  void mod_raise(int level) { sum_.mod_raise(placed(level)); }
  void conjugate(int level) { sum_.conjugate(placed(level)); }
  void eval_mod(const EvalModStage& stage) {
    sum_.series(stage.series().nodes, shift_);
    for (int k = stage.polynomial().spec().double_angles; k > 0; --k) {
      const int level = placed(context_.compute_level()) + k;
      sum_.multiply(level);
      sum_.relinearise_rescale(level);
      sum_.add(level - 1, 1);
    }
  }
  void add(int level, int times) { sum_.add(placed(level), 2, times); }

 private:
  const Context& context_;
  int shift_;
  EffortSum sum_;
};

}  // namespace

BootstrapFigures figures_of(const BootstrapPlan& plan, const KernelSeconds& kernels) {
  return figures_of(plan, shape_of(plan.context()), kernels);
}

BootstrapFigures figures_of(const BootstrapPlan& plan, const SchemeShape& shape,
                            const KernelSeconds& kernels) {
  const Context& context = plan.context();
  BootstrapEffort sum(context, shape);
  sum.rotation(plan.pre_rotation(), plan.entry_level());
  sum.transforms(plan.slots_to_coeffs());
  sum.mod_raise(context.max_level());
  sum.transforms(plan.coeffs_to_slots());
  sum.conjugate(context.evalmod_level());
  sum.add(context.evalmod_level(), 1);
  sum.eval_mod(plan.eval_mod());
  BootstrapFigures figures;
  figures.real_effort = sum.effort();
  sum.add(context.evalmod_level(), 2);  // the difference, turned by -i
  sum.eval_mod(plan.eval_mod());
  figures.effort = sum.effort();

  const auto extended_limbs = [&](const PlacedTransform& t) {
    const int level = sum.placed(t.level);
    return level + 1 + shape.special_primes(level);
  };
  for (const auto* transforms : {&plan.slots_to_coeffs(), &plan.coeffs_to_slots()}) {
    for (const PlacedTransform& t : *transforms) {
      for (const TransformTerm& term : t.transform.terms)
        figures.memory_bytes += 16.0 * static_cast<double>(term.diagonal.size()) * extended_limbs(t);
    }
  }
  for (const PlacedTransform& t : plan.coeffs_to_slots()) {
    const double polynomials =
        shape.digits(sum.placed(t.level)) + 2.0 * static_cast<double>(t.schedule.accumulators.size());
    figures.scratch_bytes =
        std::max(figures.scratch_bytes, polynomials * extended_limbs(t) * shape.limb_bytes() +
                                            shape.ciphertext_bytes(sum.placed(t.level)));  // the argument
  }
  // EvalMod of one part while the other waits.
  const int evalmod_level = sum.placed(context.evalmod_level());
  figures.scratch_bytes = std::max(
      figures.scratch_bytes,
      2 * shape.ciphertext_bytes(evalmod_level) +
          series_scratch_bytes(plan.eval_mod().series(), shape, evalmod_level - context.evalmod_level()));
  figures.seconds = kernels.of(figures.effort.work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  const KeyRequest request = plan.key_request();
  for (const int level : request.relinearisation_levels) figures.keys.need_relinearisation(sum.placed(level));
  for (const auto& [element, levels] : request.galois_levels)
    for (const int level : levels) figures.keys.need_galois(element, sum.placed(level));
  // Around ModRaise: a digit of two limbs at q_0 p_0, two polynomials, and a key at the top.
  figures.other_key_bytes = shape.key_bytes(shape.max_level) +
                            2 * (shape.q_bits.front() + shape.p_bits.front()) / 64.0 * shape.limb_bytes();
  return figures;
}

Effort effort_of(const SparseBootstrapPlan& plan) {
  const Context& context = plan.context();
  const SchemeShape shape = shape_of(context);
  BootstrapEffort sum(context, shape);
  sum.rotation(plan.pre_rotation(), plan.entry_level());
  sum.transforms(plan.slots_to_coeffs());
  sum.mod_raise(plan.raised_level());
  sum.transforms(plan.coeffs_to_slots());
  sum.rotation_sum(plan.first_sum(), plan.coeffs_to_slots().back().level);
  sum.rotation_sum(plan.last_sum(), context.evalmod_level());
  sum.conjugate(context.evalmod_level());
  sum.add(context.evalmod_level(), 1);
  sum.eval_mod(plan.eval_mod());
  sum.transforms(std::vector{plan.recombination()});
  return sum.effort();
}

KeyRequest key_request(const Plan& plan, const BootstrapPlan* bootstrap) {
  KeyRequest request;
  request.relinearisation_levels = plan.keys.relinearisation_levels;
  request.galois_levels = plan.keys.galois_levels;
  if (plan.bootstraps > 0) {
    if (bootstrap == nullptr)
      throw Error(
          message("the plan has ", plan.bootstraps, " bootstraps, and these parameters none; take others"));
    request.merge(bootstrap->key_request());
  }
  return request;
}

}  // namespace psm::program
