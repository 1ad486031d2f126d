#include "ckks/program/planning/scheme_figures.h"

#include <algorithm>
#include <span>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"

namespace psm::program {

LevelBudget budget_of(const Context& context) {
  return {.max_level = context.compute_level(),
          .entry_level = context.entry_level(),
          .input_level = context.compute_level(),
          .output_level = 0};
}

namespace {

// The effort of a bootstrap's steps, summed up. Levels are those of the context; in another chain
// what lies above SlotsToCoeffs moves with the computing levels.
class BootstrapEffort {
 public:
  BootstrapEffort(const Context& context, const Chain& chain)
      : context_(context), shift_(chain.compute_level - context.compute_level()), sum_(chain) {}

  int placed(int level) const { return level > context_.entry_level() ? level + shift_ : level; }
  const Effort& effort() const { return sum_.effort; }

  void transforms(std::span<const PlacedTransform> transforms) {
    const auto slots = static_cast<size_t>(context_.slots());
    for (const PlacedTransform& t : transforms)
      sum_.linear(summarise(t.transform, t.schedule, slots), placed(t.level));
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
  return figures_of(plan, plan.context().chain(), kernels);
}

BootstrapFigures figures_of(const BootstrapPlan& plan, const Chain& chain, const KernelSeconds& kernels) {
  const Context& context = plan.context();
  BootstrapEffort sum(context, chain);
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
    return level + 1 + chain.special_primes(level);
  };
  for (const auto* transforms : {&plan.slots_to_coeffs(), &plan.coeffs_to_slots()}) {
    for (const PlacedTransform& t : *transforms) {
      for (const TransformTerm& term : t.transform.terms)
        figures.memory_bytes += 16.0 * static_cast<double>(term.weight.period()) * extended_limbs(t);
    }
  }
  for (const PlacedTransform& t : plan.coeffs_to_slots()) {
    const double polynomials =
        chain.digits(sum.placed(t.level)) + 2.0 * static_cast<double>(t.schedule.accumulators.size());
    figures.scratch_bytes =
        std::max(figures.scratch_bytes, polynomials * extended_limbs(t) * chain.limb_bytes() +
                                            chain.ciphertext_bytes(sum.placed(t.level)));  // the argument
  }
  // EvalMod of one part while the other waits.
  const int evalmod_level = sum.placed(context.evalmod_level());
  figures.scratch_bytes = std::max(
      figures.scratch_bytes,
      2 * chain.ciphertext_bytes(evalmod_level) +
          series_scratch_bytes(plan.eval_mod().series(), chain, evalmod_level - context.evalmod_level()));
  figures.seconds = kernels.of(figures.effort.work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  const KeyRequest request = plan.key_request();
  for (const int level : request.relinearisation_levels) figures.keys.need_relinearisation(sum.placed(level));
  for (const auto& [element, levels] : request.galois_levels)
    for (const int level : levels) figures.keys.need_galois(element, sum.placed(level));
  figures.keys.encapsulation = request.encapsulation;
  return figures;
}

Effort effort_of(const SparseBootstrapPlan& plan) {
  const Context& context = plan.context();
  BootstrapEffort sum(context, context.chain());
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
  KeyRequest request = plan.keys;
  if (plan.bootstraps > 0) {
    if (bootstrap == nullptr)
      throw Error(
          message("the plan has ", plan.bootstraps, " bootstraps, and these parameters none; take others"));
    request.merge(bootstrap->key_request());
  }
  return request;
}

}  // namespace psm::program
