#include "ckks/program/planning/scheme_figures.h"

#include <algorithm>
#include <span>
#include <utility>

#include "ckks/base/error.h"

namespace psm::program {

namespace {

using Transforms = std::span<const ckks::PlacedTransform>;

void add_transforms(Transforms transforms, EffortSum& sum) {
  for (const ckks::PlacedTransform& t : transforms) sum.linear(t.schedule.counts, t.level);
}

void add_eval_mod(const ckks::EvalModStage& stage, const ckks::Context& context, EffortSum& sum) {
  sum.add(context.evalmod_level(), 1);
  sum.series(stage.series().nodes);
  for (int k = ckks::EvalMod::kDoubleAngles; k > 0; --k) {
    const ckks::Level level = context.compute_level() + k;
    sum.multiply(level);
    sum.relinearise_rescale(level);
    sum.add(level - 1, 1);
  }
}

// What the encoded diagonals take.
double diagonal_bytes(Transforms transforms, const ckks::Chain& chain) {
  double bytes = 0;
  for (const ckks::PlacedTransform& t : transforms) bytes += encoded_bytes(t.transform, chain, t.level);
  return bytes;
}

// What the largest of the transforms takes besides its result: digits, accumulators, the argument.
double transform_bytes(Transforms transforms, const ckks::Chain& chain) {
  double most = 0;
  for (const ckks::PlacedTransform& t : transforms) {
    const double polynomials =
        chain.digits(t.level) + 2.0 * static_cast<double>(t.schedule.accumulators.size());
    const int limbs = weight_basis(t.transform, chain, t.level).limbs();
    most = std::max(most, polynomials * limbs * static_cast<double>(chain.limb_bytes()) +
                              static_cast<double>(chain.ciphertext_bytes(t.level)));
  }
  return most;
}

}  // namespace

BootstrapFigures figures_of(const ckks::BootstrapPlan& plan, const KernelSeconds& kernels) {
  using Recombine = ckks::BootstrapPlan::Recombine;
  const ckks::Context& context = plan.context();
  const ckks::Chain& chain = context.chain();
  const ckks::Level evalmod = context.evalmod_level();
  BootstrapFigures figures{
      .kind = plan.kind(), .entry_level = plan.entry_level(), .output_level = plan.output_level()};
  EffortSum sum(chain);
  if (plan.pre_rotation() != 0) sum.rotate(plan.entry_level());
  add_transforms(plan.slots_to_coeffs(), sum);
  sum.mod_raise(plan.raised_level());
  if (plan.kind().of_blocks()) {
    sum.sum_galois_raised(plan.raised_level(), static_cast<int64_t>(plan.raised_sum().size()));
    sum.add(plan.raised_level());
    sum.rescale(plan.raised_level());
  }
  add_transforms(plan.coeffs_to_slots(), sum);
  for (const auto& elements : plan.trace())
    sum.sum_rotations(plan.coeffs_to_slots().back().level, static_cast<int64_t>(elements.size()));
  figures.memory_bytes =
      diagonal_bytes(plan.slots_to_coeffs(), chain) + diagonal_bytes(plan.coeffs_to_slots(), chain);
  // The ciphertexts that wait while EvalMod runs: the other part of a full one, and the argument.
  const double waiting = plan.kind().sparse() ? 1 : 2;
  figures.scratch_bytes = std::max(transform_bytes(plan.coeffs_to_slots(), chain),
                                   waiting * static_cast<double>(chain.ciphertext_bytes(evalmod)) +
                                       series_scratch_bytes(plan.eval_mod().series(), chain));
  if (plan.kind().sparse()) {
    sum.sum_rotations(evalmod, static_cast<int64_t>(plan.last_sum().size()));
    add_eval_mod(plan.eval_mod(), context, sum);
    figures.effort = figures.real_effort = figures.pair_effort = sum.effort;
    for (const auto& [recombine, effort] :
         {std::pair(Recombine::kWhole, &figures.effort), std::pair(Recombine::kReal, &figures.real_effort),
          std::pair(Recombine::kParts, &figures.pair_effort)}) {
      if (!plan.has_recombination()) break;
      const ckks::PlacedTransform last[] = {plan.recombination(recombine)};
      EffortSum whole = sum;
      add_transforms(last, whole);
      *effort = whole.effort;
      figures.memory_bytes += diagonal_bytes(last, chain);
    }
  } else {
    sum.conjugate(evalmod);
    sum.add(evalmod);
    EffortSum of_part(chain);
    add_eval_mod(plan.eval_mod(), context, of_part);
    figures.real_effort = sum.effort;
    figures.real_effort += of_part.effort;
    sum.add(evalmod, 2, 2);  // the difference, turned by -i
    sum.effort += of_part.effort;
    sum.effort += of_part.effort;
    figures.pair_effort = sum.effort;
    sum.add(context.compute_level(), 2, 2);  // re + i im
    figures.effort = sum.effort;
  }
  if (!plan.kind().of_blocks()) {
    EffortSum packing(chain);
    packing.add(plan.entry_level(), 2, 2);  // a + i b
    figures.pair_effort += packing.effort;
  }
  figures.seconds = kernels.of(figures.effort.work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  figures.keys = plan.key_request();
  return figures;
}

CostModel costs_of(const ckks::Context& context, const ckks::BootstrapPlans& plans,
                   const KernelSeconds& kernels) {
  std::vector<BootstrapFigures> offered;
  for (const auto& [kind, plan] : plans) offered.push_back(figures_of(plan, kernels));
  return CostModel(context.chain(), kernels, std::move(offered));
}

ckks::KeyRequest key_request(const Plan& plan, const ckks::BootstrapPlans& plans) {
  ckks::KeyRequest request = plan.keys;
  for (const ckks::BootstrapKind& kind : bootstrap_kinds(plan)) {
    const auto found = plans.find(kind);
    if (found == plans.end())
      throw Error(
          message("the plan has bootstraps of ", kind.text(),
                  ", which these parameters do not have, or the planner was not offered; take others"));
    request.merge(found->second.key_request());
  }
  return request;
}

}  // namespace psm::program
