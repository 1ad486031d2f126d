#include "ckks/program/planning/scheme_figures.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ckks/base/error.h"
#include "ckks/program/planning/effort_sum.h"

namespace psm::program {

LevelBudget budget_of(const ckks::Context& context) {
  return {.max_level = context.compute_level(),
          .entry_level = context.entry_level(),
          .input_level = context.compute_level(),
          .output_level = 0};
}

namespace {

// The effort of a bootstrap's steps, summed up.
class BootstrapEffort {
 public:
  explicit BootstrapEffort(const ckks::Context& context)
      : context_(context), chain_(context.chain()), sum_(chain_) {}

  const Effort& effort() const { return sum_.effort; }

  void transforms(std::span<const ckks::PlacedTransform> transforms) {
    const auto slots = static_cast<size_t>(context_.slots());
    for (const ckks::PlacedTransform& t : transforms)
      sum_.linear(summarise(t.transform, t.schedule, slots), t.level);
  }
  void rotation(int offset, ckks::Level level) {
    if (offset != 0) sum_.rotate(level);
  }
  void rotation_sum(const ckks::RotationSum& rotations, ckks::Level level) {
    for (const auto& elements : rotations.sums(context_)) sum_rotations(level, elements.size());
  }
  void mod_raise() { sum_.mod_raise(chain_.max_level); }
  void sum_rotations(ckks::Level level, size_t count) {
    sum_.sum_rotations(level, static_cast<int64_t>(count));
  }
  void conjugate(ckks::Level level) { sum_.conjugate(level); }
  void eval_mod(const ckks::EvalModStage& stage) {
    sum_.add(context_.evalmod_level(), 1);
    sum_.series(stage.series().nodes);
    for (int k = stage.polynomial().spec().double_angles; k > 0; --k) {
      const ckks::Level level = context_.compute_level() + k;
      sum_.multiply(level);
      sum_.relinearise_rescale(level);
      sum_.add(level - 1, 1);
    }
  }
  void rescale(ckks::Level level) {
    sum_.add(level);
    sum_.rescale(level);
  }
  void add(ckks::Level level, int times) { sum_.add(level, 2, times); }

  // Returns the bytes of the encoded diagonals.
  double diagonal_bytes(std::span<const ckks::PlacedTransform> transforms) const {
    double bytes = 0;
    for (const ckks::PlacedTransform& t : transforms)
      for (const ckks::TransformTerm& term : t.transform.terms)
        bytes += 16.0 * static_cast<double>(term.weight.period()) * extended_limbs(t);
    return bytes;
  }
  // What the largest of the transforms takes besides its result: digits, accumulators, the argument.
  double transform_bytes(std::span<const ckks::PlacedTransform> transforms) const {
    double most = 0;
    for (const ckks::PlacedTransform& t : transforms) {
      const double polynomials =
          chain_.digits(t.level) + 2.0 * static_cast<double>(t.schedule.accumulators.size());
      most = std::max(most, polynomials * extended_limbs(t) * static_cast<double>(chain_.limb_bytes()) +
                                static_cast<double>(chain_.ciphertext_bytes(t.level)));
    }
    return most;
  }

 private:
  double extended_limbs(const ckks::PlacedTransform& t) const {
    return t.level + 1 + chain_.special_primes(t.level);
  }

  const ckks::Context& context_;
  const ckks::Chain& chain_;
  EffortSum sum_;
};

}  // namespace

BootstrapFigures figures_of(const ckks::BootstrapPlan& plan, const KernelSeconds& kernels) {
  const ckks::Context& context = plan.context();
  const ckks::Chain& chain = context.chain();
  BootstrapEffort sum(context);
  sum.rotation(plan.pre_rotation(), plan.entry_level());
  sum.transforms(plan.slots_to_coeffs());
  sum.mod_raise();
  sum.transforms(plan.coeffs_to_slots());
  sum.conjugate(context.evalmod_level());
  sum.add(context.evalmod_level(), 1);
  sum.eval_mod(plan.eval_mod());
  BootstrapFigures figures;
  figures.real_effort = sum.effort();
  sum.add(context.evalmod_level(), 2);  // the difference, turned by -i
  sum.eval_mod(plan.eval_mod());
  figures.seconds = kernels.of(sum.effort().work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  BootstrapEffort complex = sum, pair = sum;
  complex.add(context.compute_level(), 2);  // re + i im
  pair.add(context.entry_level(), 2);       // a + i b
  figures.effort = complex.effort();
  figures.pair_effort = pair.effort();

  figures.memory_bytes =
      sum.diagonal_bytes(plan.slots_to_coeffs()) + sum.diagonal_bytes(plan.coeffs_to_slots());
  // EvalMod of one part while the other waits.
  const double evalmod_bytes = 2.0 * static_cast<double>(chain.ciphertext_bytes(context.evalmod_level())) +
                               series_scratch_bytes(plan.eval_mod().series(), chain);
  figures.scratch_bytes = std::max(sum.transform_bytes(plan.coeffs_to_slots()), evalmod_bytes);
  figures.keys = plan.key_request();
  return figures;
}

SparseFigures figures_of(const ckks::SparseBootstrapPlan& plan, const KernelSeconds& kernels) {
  using Recombine = ckks::SparseBootstrapPlan::Recombine;
  const ckks::Context& context = plan.context();
  const ckks::Chain& chain = context.chain();
  BootstrapEffort sum(context);
  sum.rotation(plan.pre_rotation(), plan.entry_level());
  sum.transforms(plan.slots_to_coeffs());
  sum.mod_raise();
  if (plan.kind().of_blocks()) sum.rescale(plan.raised_level());
  sum.transforms(plan.coeffs_to_slots());
  sum.rotation_sum(plan.trace(), plan.coeffs_to_slots().back().level);
  sum.sum_rotations(context.evalmod_level(), plan.last_sum().size());
  sum.eval_mod(plan.eval_mod());

  SparseFigures sparse{.kind = plan.kind(),
                       .entry_level = plan.entry_level(),
                       .output_level = plan.output_level(),
                       .figures = {}};
  BootstrapFigures& figures = sparse.figures;
  figures.memory_bytes =
      sum.diagonal_bytes(plan.slots_to_coeffs()) + sum.diagonal_bytes(plan.coeffs_to_slots());
  figures.effort = figures.real_effort = figures.pair_effort = sum.effort();
  for (const auto& [recombine, effort] :
       {std::pair(Recombine::kWhole, &figures.effort), std::pair(Recombine::kReal, &figures.real_effort),
        std::pair(Recombine::kParts, &figures.pair_effort)}) {
    if (plan.kind().of_blocks()) break;
    const ckks::PlacedTransform last[] = {plan.recombination(recombine)};
    BootstrapEffort whole = sum;
    if (recombine == Recombine::kParts) whole.add(plan.entry_level(), 2);  // a + i b
    whole.transforms(last);
    *effort = whole.effort();
    figures.memory_bytes += sum.diagonal_bytes(last);
  }
  figures.seconds = kernels.of(figures.effort.work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  figures.keys = plan.key_request();
  figures.scratch_bytes = std::max(sum.transform_bytes(plan.coeffs_to_slots()),
                                   static_cast<double>(chain.ciphertext_bytes(context.evalmod_level())) +
                                       series_scratch_bytes(plan.eval_mod().series(), chain));
  return sparse;
}

ckks::KeyRequest key_request(const Plan& plan, const ckks::BootstrapPlan* bootstrap,
                             std::span<const ckks::SparseBootstrapPlan* const> sparse) {
  ckks::KeyRequest request = plan.keys;
  for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan)) {
    if (!kind.sparse()) {
      if (bootstrap == nullptr)
        throw Error(
            message("the plan has ", plan.bootstraps, " bootstraps, and these parameters none; take others"));
      request.merge(bootstrap->key_request());
      continue;
    }
    const auto found =
        std::find_if(sparse.begin(), sparse.end(),
                     [&](const ckks::SparseBootstrapPlan* offered) { return offered->kind() == kind; });
    if (found == sparse.end())
      throw Error(message("the plan has bootstraps of ", kind.text(),
                          ", which are not among those given; offer the planner the same"));
    request.merge((*found)->key_request());
  }
  return request;
}

}  // namespace psm::program
