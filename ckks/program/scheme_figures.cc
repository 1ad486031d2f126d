#include "ckks/program/scheme_figures.h"

#include <algorithm>

#include "ckks/base/error.h"

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

BootstrapFigures figures_of(const BootstrapPlan& plan, const KernelSeconds& kernels) {
  const CostModel model(shape_of(plan.context()), kernels);
  const auto slots = static_cast<std::size_t>(plan.context().slots());
  Program program;  // only its number of slots is asked for
  program.slots = slots;
  BootstrapFigures figures;
  for (const auto* transforms : {&plan.slots_to_coeffs(), &plan.coeffs_to_slots()}) {
    for (const PlacedTransform& t : *transforms) {
      LinearMap map{.outputs = t.transform.outputs, .terms = {}};
      for (const TransformTerm& term : t.transform.terms)
        map.terms.push_back({.output = term.output,
                             .giant = term.giant,
                             .input = term.input,
                             .baby = term.baby,
                             .conjugate = term.conjugate,
                             .weight = Plain::shape_only(term.diagonal.size(), false)});
      Instruction linear{.opcode = Opcode::kLinear,
                         .linear = std::make_shared<const LinearMap>(std::move(map))};
      figures.effort += model.effort(linear, program, t.level);
      for (const TransformTerm& term : t.transform.terms) {
        const int limbs = t.level + 1 + plan.context().p_count(t.level);
        figures.memory_bytes += 16.0 * static_cast<double>(term.diagonal.size()) * limbs;
      }
    }
  }
  const double limb_bytes = model.shape().limb_bytes();
  for (const PlacedTransform& t : plan.coeffs_to_slots()) {
    const double polynomials =
        model.shape().digits(t.level) + 2.0 * static_cast<double>(t.schedule.accumulators.size());
    figures.scratch_bytes = std::max(
        figures.scratch_bytes, polynomials * (t.level + 1 + plan.context().p_count(t.level)) * limb_bytes);
  }
  Instruction rotate{.opcode = Opcode::kRotate, .offsets = {plan.pre_rotation()}};
  figures.effort += model.effort(rotate, program, plan.entry_level());
  const Instruction conjugate{.opcode = Opcode::kConjugate};
  figures.effort += model.effort(conjugate, program, plan.context().evalmod_level());
  figures.effort +=
      model.effort(conjugate, program, plan.context().max_level());  // from the ephemeral secret
  figures.effort.counts.conjugations -= 1;
  figures.effort.counts.full_key_switches += 2;  // to and from the ephemeral secret; the first is at level 0
  const Instruction square{.opcode = Opcode::kMultiply, .arguments = {Value{0}, Value{0}}};
  for (int half = 0; half < 2; ++half) {
    if (half == 1) figures.real_effort = figures.effort;
    for (const SeriesPlan::Node& node : plan.eval_mod().series().nodes) {
      for (std::size_t i = 0; i < node.products.size(); ++i) {
        Effort product = model.effort(square, program, node.level + 1);
        if (i > 0) {  // only the first pays for the relinearisation and the rescale
          product = {};
          product.work[Kernel::kMultiply] = 4.0 * (node.level + 2);
          product.counts.ciphertext_products = 1;
        }
        figures.effort += product;
      }
      figures.effort.work[Kernel::kAdd] += 2.0 * (node.level + 2) * static_cast<double>(node.terms.size());
      figures.effort.counts.plaintext_products += static_cast<std::int64_t>(node.terms.size());
    }
    for (int k = plan.eval_mod().polynomial().spec().double_angles; k > 0; --k)
      figures.effort += model.effort(square, program, plan.output_level() + k);
  }
  figures.seconds = kernels.of(figures.effort.work);
  figures.real_seconds = kernels.of(figures.real_effort.work);
  const KeyRequest request = plan.key_request();
  figures.keys.relinearisation_levels = request.relinearisation_levels;
  figures.keys.galois_levels = request.galois_levels;
  figures.other_key_bytes =
      static_cast<double>(request.bytes(plan.context())) - figures.keys.bytes(model.shape());
  return figures;
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
